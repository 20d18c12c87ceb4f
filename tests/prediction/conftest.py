"""What tests of this folder share: the toolchain, which the extra ``predict`` installs."""

from tests.support.compiling import compile_cu, toolchain

__all__ = ["compile_cu", "toolchain"]
