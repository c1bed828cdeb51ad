"""What the names of columns suggest: whether they tell who a person is. Hints for owners; no promise rests on them."""

from __future__ import annotations

import re

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_TELLING = frozenset(
    "id ids uuid guid ssn mrn name names firstname lastname fullname surname forename username nickname user login "
    "email mail phone mobile tel telephone fax address street passport licence license iban account card ip url".split()
)
"""Words that probably tell who a person is."""
_PERSONAL = frozenset(
    "ssn mrn nino uuid guid email phone telephone iban passport surname lastname firstname forename fullname "
    "username".split()
)
"""Words that nearly always do."""
_ONE_OF_EACH = frozenset("ssn mrn nino email iban passport".split())
"""Words of what each person has one of, and no two persons have in common."""
_GENERIC = frozenset("id ids uuid guid key code number no nr".split())
_PERSONS = (
    "patient|person|people|user|customer|cust|client|member|employee|worker|student|pupil|subscriber|citizen|resident|"
    "household|account|visitor|voter|donor|tenant|passenger|driver|participant|respondent|individual"
)
_ALONE = re.compile(rf"(?:{_PERSONS}|pid|uid|hhid|serial_?no)(?:_id)?$")
"""Names that say whose a row is as they are: `patient`, `hhid`."""
_NUMBERED = re.compile(rf"(?:^|_)(?:{_PERSONS})_?(?:id|key|no|nr|num|number|code|uuid|guid)$")


def words(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case: `customerId` and `CUSTOMER_ID` are customer and id."""
    return tuple(word.lower() for word in _WORDS.findall(name))


def tells(name: str) -> bool:
    """Whether a column of this name may tell who a person is: `name`, `phone`, `order_id`."""
    return not _TELLING.isdisjoint(words(name))


def is_personal(name: str) -> bool:
    """Whether it nearly certainly does: `surname`, `email`, `customer_id`."""
    return not (_PERSONAL | _ONE_OF_EACH).isdisjoint(words(name)) or _is_number_of_person(name)


def _is_number_of_person(name: str) -> bool:
    return _NUMBERED.search("_".join(words(name))) is not None


def names_person(name: str) -> bool:
    """Whether equal values of a column of this name are probably one person: `patient_id`, `custkey`, `ssn`, `hhid`."""
    found = words(name)
    return (
        not _ONE_OF_EACH.isdisjoint(found)
        or _is_number_of_person(name)
        or _ALONE.fullmatch("_".join(found)) is not None
    )


def is_generic(name: str) -> bool:
    """Whether columns of this name number other things in each table: `id`, `key`."""
    return words(name) in {(word,) for word in _GENERIC}


def is_number_of_something(name: str) -> bool:
    """Whether it ends as the name of an identifier does: `id`, `visit_id`, `orderUuid`."""
    return words(name)[-1:] in (("id",), ("ids",), ("uuid",), ("guid",))
