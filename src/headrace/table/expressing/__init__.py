"""What an `Expression` of the Table API can do, topic by topic.  Next: table/expression.py"""
