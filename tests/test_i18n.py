"""Numbers in sentences: a true minus sign, and none where nothing but zeros is left of the number."""

from __future__ import annotations

import pytest

from embviz.i18n import catalogue, text


@pytest.mark.parametrize(
    ("form", "value", "shown"),
    [
        ("{v:.0%}", -0.123, "−12%"),
        ("{v:.0%}", -0.001, "0%"),
        ("{v:+.2f}", -1.5, "−1.50"),
        ("{v:+.2f}", -0.001, "+0.00"),
        ("{v:+.2f}", 1.5, "+1.50"),
        ("{v:.1e}", -1e-5, "−1.0e-05"),
        ("{v}", -2.5, "−2.5"),
        ("{v:.2f}", float("-inf"), "−inf"),
        ("{v}", -3, "-3"),  # an id or a flag that was typed is named as it was typed
        ("{v}", "-3.5", "-3.5"),
    ],
)
def test_a_number_has_the_sign_of_its_kind(
    form: str, value: object, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(catalogue("en"), "test.number", form)
    assert text("test.number", v=value) == shown
