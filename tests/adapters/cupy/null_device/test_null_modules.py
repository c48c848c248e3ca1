"""Modules: what an image says about its kernels and variables, and what it does not have."""

from __future__ import annotations

from collections.abc import Callable

from tests.adapters.cupy.null_device.cuda_images import IMAGES

Script = Callable[..., str]


def test_a_module_has_the_kernels_and_variables_of_its_image_and_no_others(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        fat = fat_binary((2, 90, compiled("sm_90")), (2, 80, compiled("sm_80")))
        for image in (compiled("sm_80"), compiled("compute_80"), compiled("compute_75"), fat):
            module = driver.moduleLoadData(image)
            assert driver.moduleGetFunction(module, "plain")
            again = driver.moduleGetFunction(module, "bounded")
            assert driver.moduleGetFunction(module, "bounded") == again
            assert driver.moduleGetGlobal(module, "table")
            for name in ("absent", "helper", "table", ""):
                with pytest.raises(driver.CUDADriverError, match="CUDA_ERROR_NOT_FOUND") as caught:
                    driver.moduleGetFunction(module, name)
                assert caught.value.status == 500
            for name in ("absent", "plain"):
                with pytest.raises(driver.CUDADriverError, match="CUDA_ERROR_NOT_FOUND"):
                    driver.moduleGetGlobal(module, name)
            driver.moduleUnload(module)
            for use in (driver.moduleUnload, lambda m: driver.moduleGetFunction(m, "plain")):
                with pytest.raises(driver.CUDADriverError, match="CUDA_ERROR_INVALID_HANDLE"):
                    use(module)
        """,
        before=IMAGES,
    )


def test_an_image_for_another_device_or_a_broken_one_is_refused(on_null_device: Script) -> None:
    on_null_device(
        """
        import pathlib
        cubin, ptx = compiled("sm_80"), compiled("compute_80")
        elsewhere = [compiled("sm_90"), compiled("sm_86"), compiled("compute_90")]
        elsewhere.append(fat_binary((2, 90, elsewhere[0]), (1, 90, elsewhere[2])))
        for image in elsewhere:
            with pytest.raises(driver.CUDADriverError, match="CUDA_ERROR_NO_BINARY_FOR_GPU"):
                driver.moduleLoadData(image)
        fat = fat_binary((2, 80, cubin))
        broken = [b"", b"no image", cubin[:40], cubin[: len(cubin) // 2], cubin[:-1], b"\\x7fELF"]
        broken += [ptx[: ptx.rindex(b"ret;")], ptx[: ptx.rindex(b"bounded")]]
        broken += [fat[:10], fat[:100], fat[:-1]]
        broken.append(pathlib.Path("/proc/self/exe").read_bytes())  # for a processor
        for image in broken:
            with pytest.raises(driver.CUDADriverError, match="CUDA_ERROR_INVALID_IMAGE"):
                driver.moduleLoadData(image)
        """,
        before=IMAGES,
    )


def test_no_cut_of_an_image_is_taken_for_a_whole_one(on_null_device: Script) -> None:
    """However it is cut: an error of CUDA, never another and never a crash."""
    on_null_device(
        """
        import random
        random.seed(4)
        cubin = compiled("sm_80")
        for image in (cubin, fat_binary((2, 80, cubin))):
            for end in [*range(0, 200, 7), *range(200, len(image), 331)]:
                with pytest.raises(driver.CUDADriverError):
                    driver.moduleLoadData(image[:end])
        for _ in range(150):  # damaged inside: loads or not, and nothing else happens
            damaged = bytearray(cubin)
            for position in random.sample(range(len(damaged)), 40):
                damaged[position] = random.randrange(256)
            try:
                module = driver.moduleLoadData(bytes(damaged))
                driver.moduleGetFunction(module, "plain")
            except driver.CUDADriverError:
                pass
        """,
        before=IMAGES,
    )


def test_variables_have_their_sizes_and_what_they_were_initialised_with(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        from cupy.cuda import memory
        for image in (compiled("sm_80"), compiled("compute_80")):
            module = driver.moduleLoadData(image)
            def read(name, dtype, count):
                address = driver.moduleGetGlobal(module, name)
                size = count * numpy.dtype(dtype).itemsize
                owner = memory.UnownedMemory(address, size, None)
                return cupy.ndarray((count,), dtype, memory.MemoryPointer(owner, 0)).get().tolist()
            assert read("table", "int32", 4) == [1, -2, 3, 4]
            assert read("counter", "int32", 1) == [7]
            assert read("scale", "float32", 1) == [0]
            assert read("state", "float64", 100) == [0] * 100
            with pytest.raises(runtime.CUDARuntimeError, match="InvalidValue"):
                read("counter", "int32", 2)
        source = 'extern "C" __device__ double half = 0.5; extern "C" __device__ float third[2]'
        source += ' = {0.25f, -1.0f}; extern "C" __device__ long long big = -5;'
        module = driver.moduleLoadData(compiled("compute_80", source))
        assert (read("half", "float64", 1), read("third", "float32", 2)) == ([0.5], [0.25, -1.0])
        assert read("big", "int64", 1) == [-5]
        """,
        before=IMAGES,
    )


def test_raw_modules_show_attributes_and_globals_of_their_kernels(on_null_device: Script) -> None:
    on_null_device(
        """
        module = cupy.RawModule(code=SOURCE)
        plain, bounded, framed = (module.get_function(n) for n in ("plain", "bounded", "framed"))
        assert 0 < plain.num_regs <= 255
        assert (plain.shared_size_bytes, plain.max_threads_per_block) == (0, 1024)
        assert (bounded.shared_size_bytes, bounded.max_threads_per_block) == (2048, 256)
        assert framed.local_size_bytes >= 2400
        assert plain.const_size_bytes == 20
        assert (plain.binary_version, plain.ptx_version) == (80, 80)
        assert plain.max_dynamic_shared_size_bytes == 49152
        assert bounded.max_dynamic_shared_size_bytes == 49152 - 2048
        bounded.max_dynamic_shared_size_bytes = 100000
        assert bounded.max_dynamic_shared_size_bytes == 100000
        with pytest.raises(driver.CUDADriverError, match="CUDA_ERROR_INVALID_VALUE"):
            bounded.max_dynamic_shared_size_bytes = 163 * 1024
        assert plain.preferred_shared_memory_carveout == -1
        plain.preferred_shared_memory_carveout = 50
        assert plain.preferred_shared_memory_carveout == 50
        with pytest.raises(driver.CUDADriverError, match="CUDA_ERROR_INVALID_VALUE"):
            plain.preferred_shared_memory_carveout = 101
        assert cupy.ndarray((4,), "int32", module.get_global("table")).get().tolist()[1] == -2
        for get in (module.get_function, module.get_global):
            with pytest.raises(driver.CUDADriverError, match="CUDA_ERROR_NOT_FOUND"):
                get("absent")
        """,
        before=IMAGES,
    )


def test_occupancy_follows_registers_threads_and_shared_memory(on_null_device: Script) -> None:
    """The numbers are those of the occupancy calculator for 8.0."""
    on_null_device(
        """
        module = driver.moduleLoadData(compiled("sm_80"))
        plain = driver.moduleGetFunction(module, "plain")
        bounded = driver.moduleGetFunction(module, "bounded")
        blocks = driver.occupancyMaxActiveBlocksPerMultiprocessor
        assert blocks(plain, 1024, 0) == 2
        assert blocks(plain, 256, 0) == 8
        assert blocks(plain, 32, 0) == 32  # the most blocks that there can be
        assert blocks(plain, 64, 48 * 1024) == 3  # 164 KiB, of which each block takes 49
        assert blocks(plain, 64, 164 * 1024) == 0
        assert blocks(bounded, 512, 0) == 0  # __launch_bounds__(256)
        with pytest.raises(driver.CUDADriverError, match="CUDA_ERROR_INVALID_VALUE"):
            blocks(plain, 0, 0)
        grid, block = driver.occupancyMaxPotentialBlockSize(plain, 0, 0)
        assert (grid, block) == (2 * 108, 1024)
        assert driver.occupancyMaxPotentialBlockSize(plain, 0, 128)[1] == 128
        assert driver.occupancyMaxPotentialBlockSize(bounded, 0, 0)[1] == 256
        """,
        before=IMAGES,
    )


def test_modules_load_from_files_and_a_missing_one_is_cupys_error(on_null_device: Script) -> None:
    on_null_device(
        """
        import pathlib
        for name, image in {"a.cubin": compiled("sm_80"), "a.ptx": compiled("compute_80")}.items():
            pathlib.Path(name).write_bytes(image)
            kernel = cupy.RawModule(path=name).get_function("bounded")
            assert kernel.max_threads_per_block == 256
            kernel((1,), (256,), (cupy.zeros(512, "float32"),))
        changed = SOURCE.replace("bounded", "renamed")
        pathlib.Path("a.cubin").write_bytes(compiled("sm_80", changed))
        cupy.clear_memo()  # CuPy keeps modules by path
        module = cupy.RawModule(path="a.cubin")
        module.get_function("renamed")
        with pytest.raises(driver.CUDADriverError, match="CUDA_ERROR_NOT_FOUND"):
            module.get_function("bounded")
        with pytest.raises(driver.CUDADriverError, match="CUDA_ERROR_FILE_NOT_FOUND"):
            cupy.RawModule(path="missing.cubin").get_function("plain")
        cupy.clear_memo()
        pathlib.Path("a.cubin").write_bytes(compiled("sm_80")[:3000])
        with pytest.raises(driver.CUDADriverError, match="CUDA_ERROR_INVALID_IMAGE"):
            cupy.RawModule(path="a.cubin").get_function("plain")
        """,
        before=IMAGES,
    )


def test_a_compressed_image_is_taken_to_have_what_it_is_asked_for(on_null_device: Script) -> None:
    on_null_device(
        """
        module = driver.moduleLoadData(fat_binary((2, 80, b"squeezed"), flags=0x8011))
        function = driver.moduleGetFunction(module, "whatever")
        assert driver.funcGetAttribute(0, function) == 1024
        assert driver.moduleGetGlobal(module, "anything")
        """,
        before=IMAGES,
    )


def test_a_promised_kernel_is_compiled_when_the_driver_is_asked_about_it(
    on_null_device: Script,
) -> None:
    on_null_device(
        """
        asked = []
        def resolve():
            asked.append(1)
            return compiled("sm_80"), "bounded"
        handle = device.register_function(resolve)
        device.check_launch(handle, (1,), (1024,), 0)  # is not known to be too large
        assert asked == []
        assert driver.funcGetAttribute(0, handle) == 256
        assert driver.funcGetAttribute(1, handle) == 2048
        assert asked == [1]
        device.release_function(handle)
        with pytest.raises(driver.CUDADriverError, match="CUDA_ERROR_INVALID_HANDLE"):
            driver.funcGetAttribute(0, handle)

        def fails():
            raise LookupError("does not compile")
        handle = device.register_function(fails)
        for _ in range(2):  # it is asked again: the source may compile by then
            with pytest.raises(LookupError, match="does not compile"):
                driver.funcGetAttribute(0, handle)
        """,
        before=IMAGES,
    )
