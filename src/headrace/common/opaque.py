"""Names for values that headrace passes on without knowing their type.

`Any` is for these and nothing else, and the seams use the names: a signature then says what passes
through.  tests/structure/test_any.py holds both.
"""

from __future__ import annotations

from typing import Any, TypeAlias

# A record of a stream: any Python object that can be pickled.
Record: TypeAlias = Any
# What a key selector returned for a record.
Key: TypeAlias = Any
# What a function keeps in a state: its value, an element of its list, an entry of its map.
StateValue: TypeAlias = Any
# Which part of a key's state an entry belongs to: nothing, a window, a map key, a time.
Namespace: TypeAlias = Any
# A function of the user's: a plain one, or an object of one of the function classes.
UserFunction: TypeAlias = Any
# How a user declares a type: a TypeInformation, a class, a hint, or None (api checks it).
DeclaredType: TypeAlias = Any
# How a user says what the key is: a function, a KeySelector, a field's name or position, a column.
FieldOrSelector: TypeAlias = Any
# One message of an outside system, as its connector hands it to a schema.
Message: TypeAlias = Any
# What a sink's writer hands to the sink's committer; picklable, and only the sink looks inside.
Committable: TypeAlias = Any
# What a task tells the driver of an epoch, or sooner; runtime/messages.py looks inside.
TaskMessage: TypeAlias = Any
# The value of an option in the option's own type (common/config_options.py checks it).
OptionValue: TypeAlias = Any
# An object of parsed or plain JSON; whoever reads a field says what type it has.
JsonObject: TypeAlias = dict[str, Any]
# Any value of parsed or plain JSON, such as a position in a source.
JsonValue: TypeAlias = Any
# One of headrace's column expressions, the name of a field, or a pyspark Column.
ColumnLike: TypeAlias = Any
# What a host has of its own, for Spark a SparkSession and a DataFrame.  Only the host
# knows them: no other package imports pyspark.
HostSession: TypeAlias = Any
HostFrame: TypeAlias = Any
# What another package's entry point stands for; whoever asks for it checks it.
ForeignObject: TypeAlias = Any
