"""The runtime core: modes, counting, compiling, the environment, and adapters to GPU frameworks."""
