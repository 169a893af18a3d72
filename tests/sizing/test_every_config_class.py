"""Every decoder-only config class of the installed transformers, against the cache that a tiny instance really fills.

``data/model_types/known.csv`` says which model types are read, which are refused, and which could not be built here:
those are read by their fields, with a note. Each of these statements, and each row of the other two tables, is held
against the library: a type that is read must give the bytes of the real cache tensors in both forms in which the
library writes configs, and a field that is said to leave the cache alone is changed to see that it does.
"""

import csv
import json

import pytest
from tiny_llms import LENGTHS, cache_sizes, text_classes, tiny_config, unchanged_sizes
from tools import need

from procure.catalogue.paths import packaged_path
from procure.errors import InputError
from procure.sizing import card_names, load_card
from procure.sizing.cards import read_card

pytestmark = pytest.mark.slow


def table(name):
    with (packaged_path("data") / "model_types" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


KNOWN = {row["model_type"]: row for row in table("known")}
READ, UNBUILT, REFUSED = (
    [
        kind
        for kind, row in KNOWN.items()
        if row["status"] == status and row["source"].startswith("transformers") and not row["text_type"]
    ]
    for status in ("read", "unchecked", "refused")
)
OUTER = [kind for kind, row in KNOWN.items() if row["text_type"]]


@pytest.fixture(scope="module")
def classes():
    """Config classes by model type; without torch and transformers the tests fail: nothing would check real caches."""
    need("torch")
    need("transformers")
    import torch

    torch.set_num_threads(1)
    return text_classes()


def as_file(config, form="to_dict"):
    """A config as a file holds it."""
    return json.loads(json.dumps(getattr(config, form)(), default=str))


def stated(config, kind, lengths=LENGTHS):
    card = read_card(config, f"{kind}.json", kind)
    return [card.stored_bytes(length, "bf16", "transformers") for length in lengths]


def test_every_class_of_the_library_is_in_the_table(classes):
    assert classes.keys() - KNOWN.keys() == set()


@pytest.mark.parametrize("kind", READ)
def test_bytes_are_those_of_the_real_cache_in_both_forms_of_the_config(kind, classes):
    config = tiny_config(kind, classes[kind])
    real = list(unchanged_sizes(kind, classes[kind]).values())
    assert stated(as_file(config), kind) == real
    assert stated(as_file(config, "to_diff_dict"), kind) == real


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_refused_says_why(kind):
    with pytest.raises(InputError) as caught:
        read_card({"model_type": kind}, f"{kind}.json", kind)
    assert [fault.expected for fault in caught.value.faults] == [f"Not counted: {KNOWN[kind]['reason']}."]


@pytest.mark.parametrize("kind", UNBUILT)
def test_what_could_not_be_built_is_read_with_a_note_or_refused(kind, classes):
    try:
        card = read_card(as_file(classes[kind]()), f"{kind}.json", kind)
    except InputError:
        return
    assert any("no instance" in note for note in card.notes)


@pytest.mark.parametrize("kind", OUTER)
def test_a_config_of_more_modalities_reads_like_its_text_part(kind, classes):
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    config = CONFIG_MAPPING[kind]()
    text = config.get_text_config(decoder=True)
    assert text.model_type == KNOWN[kind]["text_type"]
    if KNOWN[text.model_type]["status"] != "read":
        return
    try:
        alone = stated(as_file(text), text.model_type)
    except InputError:  # the class's own defaults are inconsistent
        return
    try:
        outer = [stated(as_file(config, form), kind) for form in ("to_dict", "to_diff_dict")]
    except InputError:
        if kind not in NOT_NESTED:
            raise
    else:
        assert outer == [alone, alone]


NOT_NESTED = frozenset({"diffusion_gemma", "gemma4_unified_assistant"})
"""Configs with fields around their text part that may change its cache: text by diffusion, a draft of another LLM."""


@pytest.mark.parametrize("name", card_names())
def test_a_released_config_saved_by_its_library_reads_the_same(name):
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    content = json.loads((packaged_path("models") / f"{name}.json").read_text(encoding="utf-8"))
    config, kind = content["config"], content["config"].get("model_type")
    if kind not in CONFIG_MAPPING or kind == "bailing_hybrid":  # that class is of Ling 3: its linear layers are KDA
        return
    if "text_config" not in config:
        config = config | content.get("supplement", {}).get("fields", {})
    saved = as_file(CONFIG_MAPPING[kind].from_dict(config), "to_diff_dict")
    card, again = load_card(name), read_card(saved, f"{name}.json", name)
    if name.startswith("mimo"):  # its library counts the token itself as one of the window
        assert [layer.kv_heads for layer in again.attention] == [layer.kv_heads for layer in card.attention]
        assert {layer.window for layer in again.attention} == {None, 129}
        return
    for tokens in (100, 8_000, 131_072):
        assert again.stored_bytes(tokens, "bf16") == card.stored_bytes(tokens, "bf16")
    assert again.notes == ()


SMALL_SHARE = {"deepseek_v4", "bailing_hybrid", "gemma3n_text"}
"""Weights that are a small share of a real LLM and a large one of a tiny: streams, low-rank gates, laurel."""


@pytest.mark.parametrize("kind", sorted(set(READ) - SMALL_SHARE))
def test_parameters_are_those_of_the_real_llm_or_refused(kind, classes):
    import torch
    import transformers

    config = tiny_config(kind, classes[kind])
    try:
        with torch.device("meta"):
            model = transformers.AutoModelForCausalLM.from_config(config)
    except ValueError:  # text parts that have no causal model of their own
        return
    real = sum(
        weight.numel()
        for name, weight in model.named_parameters()
        if weight.dim() > 1 and not any(part in name for part in ("wpe", "embed_positions", "position_embedding"))
    )
    card = read_card(as_file(config), f"{kind}.json", kind)
    try:
        counted = card.params.total
    except InputError:
        return
    assert counted == pytest.approx(real, rel=0.06)


SIZES = [(row["model_type"], row["field"], row["value"]) for row in table("defaults") if row["applies"] == "nested"]


def test_sizes_that_a_class_takes_are_those_of_the_table(classes):
    defaults = {kind: as_file(classes[kind]()) for kind, _, _ in SIZES}
    taken = {(kind, field): str(defaults[kind][field]) for kind, field, _ in SIZES}
    assert taken == {(kind, field): value for kind, field, value in SIZES}


def changed(value):
    """Other values of the same type, or none for what only names a choice."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value * 2, max(value // 2, 1)]
    if isinstance(value, float):
        return [value / 2 + 0.125]
    return [value[::-1]] if isinstance(value, list) else []


FOLLOWED = [
    (kind, row["field"])
    for row in table("fields")
    if row["model_types"] != "*" and "real cache" in row["why"]
    for kind in row["model_types"].split()
]


@pytest.mark.parametrize(("kind", "field"), FOLLOWED)
def test_no_byte_of_the_real_cache_follows_a_listed_field(kind, field, classes):
    config = tiny_config(kind, classes[kind])
    kept = unchanged_sizes(kind, classes[kind])
    real, compared = [kept[5], kept[33]], 0
    for value in changed(getattr(config, field)):
        try:
            sizes = cache_sizes(tiny_config(kind, classes[kind], **{field: value}), (5, 33))
        except Exception:  # the library allows no such value
            continue
        compared += 1
        assert sizes == real, value
    assert compared


def everywhere(classes):
    """A field said to be harmless for all types, and the first type read whose class has it with a value to change."""
    found = {}
    named = [row["field"] for row in table("fields") if row["model_types"] == "*"]
    for kind in READ:
        config = tiny_config(kind, classes[kind]).to_dict()
        for field in config.keys() & set(named) - found.keys():
            if changed(config[field]):
                found[field] = kind
    return sorted(found.items())


def test_no_byte_follows_a_field_that_is_listed_for_all_types(classes):
    """Each such field once, where some class has it."""
    compared = 0
    for field, kind in everywhere(classes):
        real = [unchanged_sizes(kind, classes[kind])[33]]
        for value in changed(tiny_config(kind, classes[kind]).to_dict()[field]):
            try:
                sizes = cache_sizes(tiny_config(kind, classes[kind], **{field: value}), (33,))
            except Exception:  # the library allows no such value
                continue
            compared += 1
            assert sizes == real, (field, kind, value)
    assert compared > 100
