"""Evidence of the atlas: every function returns one number. Transcriptions are our own, 10 to 25 lines of mathematics.

accounts    what our ledgers say; direct: the same by a short calculation that uses no dpverify; trials: what audits
certify; the other modules transcribe what one paper or one program does.
"""
