"""Files, locks and servers, as all of headrace uses them.  Next: storage.py"""
