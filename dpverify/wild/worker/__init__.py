"""What runs beside the audited library: the standard library alone, Python 3.7 to 3.14.

These files are imported here and sent as source to other interpreters (`wild.interpreter`); they import each other and
nothing else of ours. In another interpreter their package is called `dpverify_remote`.
"""
