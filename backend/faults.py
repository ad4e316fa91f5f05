"""What can be wrong with what somebody asks for: sentences for people, by the field that they are about."""

from collections.abc import Mapping


class InvalidError(ValueError):
    """It breaks rules. `faults` holds a sentence for each field at fault."""

    def __init__(self, faults: Mapping[str, str]) -> None:
        super().__init__(" ".join(faults.values()))
        self.faults = dict(faults)


class FieldFaultError(ValueError):
    """It cannot be so. The text is a sentence, `field` what it is about."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field
