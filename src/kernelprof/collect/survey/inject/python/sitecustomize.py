"""Loaded by every Python that a surveyed program starts: names what its launches belong to.

PyTorch's operators and modules become NVTX ranges, and Triton's functions are noted with their
lines. It runs in the program's own interpreter, of any version from 3.8 on, and nothing of it may
be seen there: whatever fails is left out.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _next_sitecustomize():
    """Run the module of this name that the program would have got without us."""
    import importlib.machinery
    import importlib.util

    places = [each for each in sys.path if os.path.abspath(each or ".") != _HERE]
    sys.path[:] = places
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", places)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _after_import(names):
    """Call ``names[name](module)`` when a module has been imported."""

    class Loader:
        def __init__(self, loader, name):
            self._loader = loader
            self._name = name

        def __getattr__(self, name):
            return getattr(self._loader, name)

        def create_module(self, spec):
            return self._loader.create_module(spec)

        def exec_module(self, module):
            self._loader.exec_module(module)
            try:
                module.__spec__.loader = self._loader
                names[self._name](module)
            except Exception:
                pass

    class Finder:
        def __init__(self):
            self._busy = False

        def find_spec(self, name, path=None, target=None):
            if self._busy or name not in names:
                return None
            import importlib.util

            self._busy = True
            try:
                spec = importlib.util.find_spec(name)
            except Exception:
                return None
            finally:
                self._busy = False
            if spec is None or not hasattr(spec.loader, "exec_module"):
                return None
            spec.loader = Loader(spec.loader, name)
            return spec

    sys.meta_path.insert(0, Finder())


_MODULE = "kernelprof.module"
_STOPPED = "kernelprof.stopped"
_ENOUGH = 20000
"""After so many ranges what launches belong to is known: the rest of a program runs as alone."""
_MORE_THAN_ENOUGH = 2 * _ENOUGH


def _torch(torch):
    stop_operators = _operators(torch)
    _modules(torch, stop_operators)


def _operators(torch):
    """Have PyTorch push an NVTX range for each operator, as ``emit_nvtx`` does.

    Without what that does besides: it would initialize CUDA now, before a program may have forked.
    A profiler of the program's own takes its place, since PyTorch has one at a time.
    """
    import _thread
    import atexit

    from torch._C._profiler import ProfilerConfig, ProfilerState, _ExperimentalConfig
    from torch.autograd import profiler

    enable, disable = profiler._enable_profiler, profiler._disable_profiler
    prepare = profiler._prepare_profiler
    ours, thread = [True], _thread.get_ident()
    config = ProfilerConfig(
        ProfilerState.NVTX, False, False, False, False, False, _ExperimentalConfig()
    )
    enable(config, set())

    def stand_aside():
        if ours[0] and thread == _thread.get_ident():  # a profiler is that of a thread
            ours[0] = False
            disable()

    def enabled(*arguments, **keywords):
        stand_aside()
        return enable(*arguments, **keywords)

    def prepared(*arguments, **keywords):
        stand_aside()
        return prepare(*arguments, **keywords)

    profiler._enable_profiler = enabled
    profiler._prepare_profiler = prepared
    atexit.register(stand_aside)
    return stand_aside


def _lines(folder, when_enough):
    """Have the lines that call PyTorch named, and a function called when enough are.

    By the library that hears of ranges (``inject/python.c``). Returns functions that say how many
    ranges there were, and whether PyTorch is within something that it records: to end that there
    is seen by the program.
    """
    import contextlib
    import ctypes
    import multiprocessing

    library = ctypes.PyDLL(os.environ["NVTX_INJECTION64_PATH"])
    library.kernelprof_pushed.restype = ctypes.c_ulonglong
    name_lines = library.kernelprof_name_lines
    name_lines.argtypes = [ctypes.c_char_p, ctypes.c_ulonglong, ctypes.py_object]
    compiled = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    files = (folder, contextlib.__file__, os.path.dirname(multiprocessing.__file__), compiled)
    name_lines(os.fsencode("".join(each + "\n" for each in files if each)), _ENOUGH, when_enough)
    return library.kernelprof_pushed, library.kernelprof_within_operator


def _paths(depth):
    """A function that names modules by their path in the one that is called outermost."""
    names = {}

    def path_of(module):
        key = id(module)
        if key not in names:
            if depth[0] == 0:
                for path, each in module.named_modules():
                    names[id(each)] = path
            names.setdefault(key, "")
        return names[key]

    return path_of


def _line(folder):
    """The file and line that calls what lies in a folder, for a hook that is called there."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(folder):
        frame = frame.f_back
    if frame is None:
        return ""
    return "%s:%d" % (frame.f_code.co_filename, frame.f_lineno)


def _modules(torch, stop_operators):
    """Push an NVTX range for each call of a module: its class, its path, and the line of it."""
    from torch.nn.modules import module as modules

    push, pop = torch._C._nvtx.rangePushA, torch._C._nvtx.rangePop
    folder = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
    compiler = getattr(torch, "compiler", None)
    is_compiling = getattr(compiler, "is_compiling", bool)
    within_backward = getattr(torch._C, "_current_graph_task_id", lambda: -1)
    depth = [0]
    enough = [False]
    hooks = []
    path_of = _paths(depth)

    def when_enough():
        enough[0] = True
        try:
            return stop()
        except Exception:
            return True

    def stop():
        """End the naming where that can be, and soon at any rate; whether it ended."""
        if depth[0] or within_backward() != -1:
            return False
        if within_operator() and pushed() < _MORE_THAN_ENOUGH:
            return False
        enough[0] = False
        for hook in hooks:
            hook.remove()
        stop_operators()
        push(_STOPPED)
        pop()
        return True

    def before(module, arguments):
        if is_compiling():
            return
        if depth[0] == 0 and pushed() > _ENOUGH and stop():
            return
        try:
            name = "\x1f".join((_MODULE, type(module).__name__, path_of(module), _line(folder)))
        except Exception:
            name = ""
        push(name)
        depth[0] += 1

    def after(module, arguments, result):
        if is_compiling() or depth[0] == 0:
            return
        depth[0] -= 1
        pop()
        if enough[0]:
            stop()

    pushed, within_operator = _lines(folder, when_enough)
    hooks.append(modules.register_module_forward_pre_hook(before))
    hooks.append(modules.register_module_forward_hook(after, always_call=True))


def _triton(jit):
    """Note where Triton's functions are."""
    made = jit.JITFunction.__init__

    def noted(self, fn, *arguments, **keywords):
        made(self, fn, *arguments, **keywords)
        try:
            code = fn.__code__
            place = os.path.join(os.environ["KERNELPROF_SURVEY_DIR"], "%d.functions" % os.getpid())
            with open(place, "a", encoding="utf-8") as file:
                file.write(
                    "%s\x1f%s\x1f%d\n" % (fn.__name__, code.co_filename, code.co_firstlineno)
                )
        except Exception:
            pass

    jit.JITFunction.__init__ = noted


if os.environ.get("KERNELPROF_SURVEY_DIR"):
    _after_import({"torch": _torch, "triton.runtime.jit": _triton})
try:
    _next_sitecustomize()
except Exception:
    pass
