"""Column expressions: one meaning, run by row, as Arrow kernels or by Spark.

    expressions.py   what users write: col("price") > 50
    nodes.py         what it becomes: CallNode(">", (FieldNode("price"), ConstantNode(50)))
    functions.py     the table of functions: types, a body for rows, a body for Arrow
    types.py         the type of a node over records of a type
    rows.py          a node as a Python function of one record
    kernels.py       a node as a function of an Arrow batch

The third way, a Spark column, is in hosts/spark/native/columns.py.  Next: expressions.py
"""
