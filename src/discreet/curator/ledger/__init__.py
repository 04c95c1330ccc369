"""The ledger: what was asked, by whom, at what cost; on disk, before any row is read.

Protocol. A question is *reserved* in one flushed transaction (its accounts are charged, its noise
key is made, an entry is logged), then computed, then *stored* in a second one (the answer goes in,
the noise key goes out, an entry is logged), and only then handed out. Those who wait in one process
at the same moment share a transaction (`discreet.curator.ledger.group`).

Guarantee. Everything that is ever handed out has the guarantee of its family's limit, whatever
crashes, races, retries and restored backups come between.
Assumes. The disk keeps what it says it keeps; SHA-256 has no collisions; the head file and the
database are not both taken back to an older state (an exported head finds that too).
Proof. The invariants, each tested by killing processes at every step and at random times:

I1  what an account has spent is the sum of its charges, and never above its limit: it is looked at
    and updated inside the transaction that logs the charge, which no other writer is beside; the
    update repeats the condition, and a CHECK of the database refuses what does not meet it.
I2  an answer that was handed out is stored: it is handed out from the store.
I3  one key has one answer: a key that exists is never reserved again, storing happens once, and
    who comes second takes the stored answer. Until it is stored, the noise is the key's.
I4  a charge does not depend on data: it is made before the engine is opened, and what is stored
    decides about it by what was asked, by whom, at what price, and that it is answered. Whether an
    answer is that of a failure is said in the log and by a mark on the digest of its asking, which
    nothing is looked up by: no charge, no hit and no list of answers tells.
I5  a question only goes from reserved to done; nothing is refunded.
I6  the log is a hash chain whose head never goes back: the head file holds it.
I7  no clock decides about a charge; clocks are only written down. (A policy's expiry can refuse.)
I8  a ledger that cannot be written refuses: nothing is computed.
I9  budget belongs to families of people: names of datasets, versions and policies create none.
I10 no analyst is given two answers with noise in common: a stored answer serves an analyst, as it
    is or made coarser, only if none of her askings has its noise, answered or waiting, and it is no
    older than the last restored backup. The log says of every asking what it was made of, and all
    askings are reserved one after the other.

By I1 to I3 the answers that anybody has seen are among those that were charged, each with the noise
of one draw. The limit's guarantee is then the theorem of `discreet.curator.ledger.amounts`.
Tested by tests/curator/ledger/test_ledger.py, tests/curator/ledger/test_faults.py,
tests/curator/ledger/test_charging.py
"""
