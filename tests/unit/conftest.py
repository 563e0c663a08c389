"""Fixture `twins`: what is written twice, once in Python and once compiled, so that a test runs on both."""

from __future__ import annotations

import pytest

from tests.unit.native_rig import NATIVE, PYTHON, Twins


@pytest.fixture(
    params=[
        pytest.param(PYTHON, id=pytest.HIDDEN_PARAM),  # tests.breakage knows the tests of the rule by their bare names
        pytest.param(
            NATIVE, id="native", marks=pytest.mark.skipif(NATIVE is None, reason="cdc_relay.native is not built")
        ),
    ]
)
def twins(request: pytest.FixtureRequest) -> Twins:
    chosen: Twins = request.param
    return chosen
