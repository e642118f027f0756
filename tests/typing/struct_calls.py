"""A plugin of mypy: no function of `dataclasses` is given a `msgspec.Struct`, which only fails when it is called.

To mypy a Struct is a dataclass, since both are made by `dataclass_transform`. A Struct has `msgspec.structs.replace`,
`asdict`, `astuple` and `fields` of its own, and these mypy does hold to Structs.
"""

from collections.abc import Callable, Iterator
from typing import Final

from mypy.nodes import TypeInfo
from mypy.plugin import FunctionContext, Plugin
from mypy.types import CallableType, Instance, Type, TypeType, TypeVarType, UnionType, get_proper_type

CALLS: Final = frozenset(f"dataclasses.{name}" for name in ("replace", "asdict", "astuple", "fields"))
STRUCT: Final = "msgspec.Struct"


class StructCalls(Plugin):
    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        return _checked if fullname in CALLS else None


def _checked(context: FunctionContext) -> Type:
    given = context.arg_types[0][0] if context.arg_types and context.arg_types[0] else None
    if given is not None and any(known.has_base(STRUCT) for known in _classes(given)):
        context.api.fail("A msgspec.Struct is no dataclass at run time: use msgspec.structs", context.context)
    return context.default_return_type


def _classes(given: Type) -> Iterator[TypeInfo]:
    """Of which the value may be, or which class it is."""
    proper = get_proper_type(given)
    if isinstance(proper, Instance):
        yield proper.type
    elif isinstance(proper, CallableType) and proper.is_type_obj():
        yield proper.type_object()
    elif isinstance(proper, TypeType):
        yield from _classes(proper.item)
    elif isinstance(proper, TypeVarType):
        yield from _classes(proper.upper_bound)
    elif isinstance(proper, UnionType):
        for item in proper.items:
            yield from _classes(item)


def plugin(version: str) -> type[StructCalls]:
    return StructCalls
