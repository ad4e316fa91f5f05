"""One figure of a bench, with its target."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """`at_least` says on which side of the target it should lie. Without a target it is only told."""

    name: str
    value: float
    unit: str
    target: float | None = None
    at_least: bool = True

    @property
    def met(self) -> bool:
        if self.target is None:
            return True
        return self.value >= self.target if self.at_least else self.value <= self.target

    def document(self) -> dict[str, object]:
        """For JSON."""
        return {
            "name": self.name,
            "value": round(self.value, 4),
            "unit": self.unit,
            "target": self.target,
            "met": self.met,
        }

    def line(self) -> str:
        """For a terminal."""
        told = f"  {self.name:52} {self.value:12,.3f} {self.unit:8}"
        if self.target is None:
            return told.rstrip()
        side = "at least" if self.at_least else "at most"
        return f"{told} {side} {self.target:,g}: {'met' if self.met else 'MISSED'}"
