"""What a library is asked for: its noise calls on both datasets of a pair, recorded, played back and compared.

The instruments are those of the tape (`dpverify.tape.instruments`); here they record on the first dataset, and on the
second one every call gives what it gave on the first.
"""
