"""Texts that a spreadsheet would run are stored as texts and read back as they were."""

import io

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from procure.csvtext import guard, guarded, unguard, unguarded


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "'quoted"])
def test_what_would_run_gets_an_apostrophe(text):
    assert guard(text) == "'" + text


@pytest.mark.parametrize("text", ["", "chat", "2027Q1", "-5", "+0.3", "-1e-3", "-inf", "a=b", "3 - 2"])
def test_numbers_and_plain_texts_stay(text):
    assert guard(text) == text


@pytest.mark.slow
@given(st.text() | st.from_regex(r"['=+\-@]+[a-z0-9]*", fullmatch=True))
def test_reading_undoes_it(text):
    assert unguard(guard(text)) == text


def test_a_table_comes_back_and_its_numbers_are_untouched():
    frame = pd.DataFrame({"name": ["=x", "y", "-3"], "usd": [-1.0, 2.0, 3.5], "flag": [True, False, True]})
    text = guarded(frame).to_csv(index=False)
    assert text.splitlines()[1:] == ["'=x,-1.0,True", "y,2.0,False", "-3,3.5,True"]
    pd.testing.assert_frame_equal(unguarded(pd.read_csv(io.StringIO(text), dtype={"name": str})), frame)
