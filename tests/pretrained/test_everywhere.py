"""What works on our own models works on those from elsewhere: heatmaps, comparisons, contracts, the commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlxdecoder
from mlxdecoder import contracts
from mlxdecoder.errors import UserError
from mlxdecoder.mistakes import MISTAKES, find, switch_on
from mlxdecoder.mistakes.effects import compare
from mlxdecoder.models import Encoder
from mlxdecoder.pretrained.loading import load_pretrained
from mlxdecoder.recipe import RIGHT
from mlxdecoder.show import attention_maps
from tests.pretrained.folders import FIXTURES, copied, set_values
from tests.pretrained.judging import WEIGHTS
from tests.pretrained.spoken import MAKERS, spoken
from tests.pretrained.variants import KEPT

NAMES = [variant.name for variant in KEPT]
LANGUAGE_MODELS = [name for name in NAMES if name not in ("marian", "t5", "t5-untied", "bert", "vit")]
TRANSLATORS = ["marian", "t5", "t5-untied"]
ABOUT_A_SOURCE = {
    9: "no-source-padding-mask",
    10: "padding-on-queries",
    17: "causal-cross-attention",
    25: "stale-cross-cache",
}


def answers(name: str) -> dict[str, np.ndarray]:
    """What transformers said; the first row of each batch has no padding."""
    with np.load(FIXTURES / name / "answers.npz") as found:
        return dict(found)


def text_of(ids: np.ndarray) -> str:
    return " ".join(map(str, ids.tolist()))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder with a tokenizer for each kind of tokenizer."""
    place = tmp_path_factory.mktemp("spoken")
    return {name: spoken(name, place / name) for name in MAKERS}


class TestHeatmaps:
    @pytest.mark.parametrize("name", LANGUAGE_MODELS)
    def test_of_a_language_model_show_the_weights_of_transformers(self, name: str, run: Any) -> None:
        wanted = answers(name)
        status, printed, said = run("attend", text_of(wanted["ids"][0]), "--model", FIXTURES / name, "--json")
        assert status == 0, said
        found = json.loads(printed)
        assert (found["kind"], found["queries"]) == ("decoder", [f"<{id}>" for id in wanted["ids"][0]])
        np.testing.assert_allclose(found["weights"], wanted["decoder"][:, 0], atol=WEIGHTS)

    @pytest.mark.parametrize("name", TRANSLATORS)
    @pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
    def test_of_a_translator_show_the_weights_of_transformers(self, name: str, kind: str, run: Any) -> None:
        wanted = answers(name)
        texts = text_of(wanted["ids"][0]), "--target", text_of(wanted["target"][0, 1:])
        status, printed, said = run("attend", *texts, "--kind", kind, "--model", FIXTURES / name, "--json")
        assert status == 0, said
        np.testing.assert_allclose(json.loads(printed)["weights"], wanted[kind][:, 0], atol=WEIGHTS)

    def test_of_a_picture_show_the_weights_of_transformers_patch_by_patch(self) -> None:
        wanted, checkpoint = answers("vit"), mlxdecoder.load(FIXTURES / "vit")
        maps, translation = attention_maps(checkpoint, wanted["pixels"][0].transpose(1, 2, 0))
        assert (list(maps), translation) == (["encoder"], None)
        np.testing.assert_allclose(maps["encoder"].weights, wanted["encoder"][:, 0], atol=WEIGHTS)
        assert maps["encoder"].keys == ["[CLS]", "0,0", "0,1", "0,2", "1,0", "1,1", "1,2", "2,0", "2,1", "2,2"]
        page = mlxdecoder.show(checkpoint, wanted["pixels"][0].transpose(1, 2, 0)).html()
        assert "encoder self-attention" in page

    def test_of_a_text_reader_show_all_of_the_text(self, folders: dict[str, Path], run: Any) -> None:
        status, printed, _ = run("attend", "the cat sings", "--model", folders["bert"], "--json")
        found = json.loads(printed)
        assert (status, found["kind"], found["text"]) == (0, "encoder", "the cat sings")
        assert found["keys"] == ["[CLS]", "▁the", "▁cat", "▁sings", "[SEP]"]
        np.testing.assert_allclose(np.sum(found["weights"], axis=-1), 1, atol=1e-5)
        assert "translation" not in found

    @pytest.mark.parametrize("name", sorted(MAKERS))
    @pytest.mark.parametrize("ending", [".png", ".html", ".npz"])
    def test_are_written_by_the_command(
        self, folders: dict[str, Path], name: str, ending: str, tmp_path: Path, run: Any
    ) -> None:
        out = tmp_path / f"seen{ending}"
        status, printed, _ = run("attend", "the cat sings", "--words", "--model", folders[name], "--out", out)
        assert (status, printed.splitlines()[-1], out.is_file()) == (0, str(out), True)
        assert len(printed.splitlines()) == (2 if name in TRANSLATORS else 1)

    @pytest.mark.parametrize(
        ("name", "arguments", "said"),
        [
            ("gpt2", ["--kind", "cross"], "this model has decoder self-attention alone"),
            ("gpt2", ["--target", "the dog"], "a translator is wanted. For a language model: mlxdecoder generate"),
            ("bert", ["--kind", "decoder"], "this model has encoder self-attention alone"),
        ],
    )
    def test_of_what_a_model_does_not_have_are_refused(
        self, folders: dict[str, Path], name: str, arguments: list[str], said: str, run: Any
    ) -> None:
        status, _, error = run("attend", "the cat", "--model", folders[name], "--json", *arguments)
        assert (status, said in error, len(error.strip().splitlines())) == (2, True, 1)

    def test_of_a_picture_are_not_made_of_a_text(self, run: Any) -> None:
        status, _, said = run("attend", "the cat", "--model", FIXTURES / "vit")
        assert (status, "reads images; from Python, mlxdecoder.show" in said) == (2, True)
        with pytest.raises(UserError, match=r"shape.*found"):
            mlxdecoder.show(mlxdecoder.load(FIXTURES / "vit"), np.zeros((3, 3, 3)))
        with pytest.raises(UserError, match="reads text"):
            mlxdecoder.show(mlxdecoder.load(FIXTURES / "gpt2"), np.zeros((3, 3, 3)))

    def test_say_which_heads_share_keys(self, run: Any, tmp_path: Path) -> None:
        run("attend", "5 6 7", "--model", FIXTURES / "qwen2", "--head", 3, "--out", tmp_path / "one.html")
        page = (tmp_path / "one.html").read_text(encoding="utf-8")
        assert "Key/value head 1 of 2, shared by heads 2\\u20133" in page
        _, printed, _ = run("attend", "5 6 7", "--model", FIXTURES / "qwen2", "--json")
        assert json.loads(printed)["key_value_heads"] == [0, 0, 1, 1]
        _, printed, _ = run("attend", "5 6 7", "--model", FIXTURES / "gpt2", "--json")
        assert "key_value_heads" not in json.loads(printed)


class TestContracts:
    @pytest.mark.parametrize("name", NAMES)
    def test_hold_for_every_family(self, name: str) -> None:
        found = contracts.diagnose(mlxdecoder.load(FIXTURES / name).model)
        assert found.holds, str(found)
        assert found.suspects == ()

    @pytest.mark.parametrize("name", NAMES)
    def test_find_a_mistake_in_every_family(self, name: str) -> None:
        model = mlxdecoder.load(FIXTURES / name).model
        mistake = "no-scale" if isinstance(model, Encoder) else "no-causal-mask"
        model.recipe = switch_on([mistake])
        found = contracts.diagnose(model)
        assert not found.holds
        assert mistake in [suspect.mistake.id for suspect in found.suspects]

    @pytest.mark.parametrize("name", ["gpt2", "llama-3"])
    def test_hold_where_the_end_mark_is_the_padding_too(self, name: str, tmp_path: Path) -> None:
        """As GPT-2's own configuration has it."""
        folder = copied(name, tmp_path / name)
        for file in ("config.json", "generation_config.json"):
            set_values(folder, file, bos_token_id=2, eos_token_id=2, pad_token_id=...)
        model = mlxdecoder.load(folder).model
        assert model.config.begin_id == model.config.end_id == model.config.pad_id == 2
        found = contracts.diagnose(model)
        assert found.holds, str(found)
        untried = [one.contract for report in found.reports for one in report.findings if one.holds is None]
        assert {"T4 documents", "T6 end"} <= set(untried)

    @pytest.mark.parametrize("name", ["mixtral", "qwen3", "marian", "t5"])
    def test_hold_for_halves(self, name: str) -> None:
        found = contracts.diagnose(load_pretrained(FIXTURES / name, "bfloat16").model)
        assert found.holds, str(found)


class TestMistakes:
    @pytest.mark.parametrize("name", ["gpt2", "llama-3", "mistral", "mixtral", "qwen3"])
    def test_are_compared_over_the_prompt_and_what_the_right_model_writes(self, name: str) -> None:
        checkpoint = mlxdecoder.load(FIXTURES / name)
        model: Any = checkpoint.model
        found = compare(checkpoint, ["no-causal-mask"], "5 6 7 8 9")
        prompt, written = [5, 6, 7, 8, 9], mlxdecoder.generate(model, [[5, 6, 7, 8, 9]], max_tokens=24)[0].tokens
        assert found.correct == written
        right, wrong = (maps["decoder"] for maps in (found.read.correct, found.read.mistaken))
        assert right.queries == right.keys == checkpoint.tokenizer.pieces([*prompt, *written])
        trace = mlxdecoder.attend(model, prompt, written)
        np.testing.assert_allclose(right.weights, trace.stage("decoder"), atol=1e-5)
        assert right.mass_outside().max() == 0 and wrong.mass_outside().max() > 0.1
        assert np.allclose(found.written.correct["decoder"].weights, right.weights, atol=1e-4)
        assert model.recipe is RIGHT

    @pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.id)
    def test_about_a_source_change_nothing_in_a_language_model_and_others_do(self, mistake: Any) -> None:
        checkpoint = mlxdecoder.load(FIXTURES / "qwen2")
        concerned = mistake.concerns("language_model")
        assert concerned == (mistake.number not in ABOUT_A_SOURCE)
        found = compare(checkpoint, [mistake.id], "5 6 7 8 9 10")
        changed = max(np.nan_to_num(view.divergence, nan=9).max() for view in (found.read, found.written))
        shows = concerned and not mistake.trains_only and mistake.id != "dropout-while-generating"
        assert (changed > 1e-4) == shows

    @pytest.mark.parametrize("mistake", ABOUT_A_SOURCE.values())
    def test_about_a_source_are_said_not_to_be_applicable(
        self, folders: dict[str, Path], mistake: str, run: Any
    ) -> None:
        arguments = ("mistakes", "compare", mistake, "the cat", "--model", folders["gpt2"])
        status, printed, _ = run(*arguments)
        assert status == 0
        assert f"{mistake}: not applicable: a language model has neither a source nor cross-attention" in printed
        assert "the same, token for token" in printed
        assert "not applicable" in json.loads(run(*arguments, "--json")[1])["notes"][0]

    @pytest.mark.parametrize("name", ["gpt2", "llama-3"])
    def test_that_need_another_text_have_one(self, folders: dict[str, Path], name: str, run: Any) -> None:
        for mistake in ("documents-mixed", "batch-sequence-exchanged"):
            status, printed, _ = run("mistakes", "compare", mistake, "the cat sings", "--model", folders[name])
            assert (status, "0 of" in printed.split("Token by token")[0]) == (0, False)

    def test_of_an_encoder_are_looked_at_from_python(self, folders: dict[str, Path], run: Any) -> None:
        status, _, said = run("mistakes", "compare", "no-scale", "the cat", "--model", folders["bert"])
        assert (status, "an encoder, which writes nothing" in said, "switch_on" in said) == (2, True, True)

    def test_right_sides_keep_to_the_rules_of_the_folder(self) -> None:
        """Marian never says its padding, and the last token that there is room for is the end mark."""
        checkpoint = mlxdecoder.load(FIXTURES / "marian")
        source = answers("marian")["ids"][0].tolist()
        found = compare(checkpoint, ["no-scale"], text_of(np.array(source)))
        model: Any = checkpoint.model
        assert found.correct == mlxdecoder.generate(model, [source])[0].tokens
        assert checkpoint.model.config.pad_id not in found.correct


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["translate", "the cat"], "gpt2"),
        (["align", "the cat"], "llama-3"),
        (["evaluate", "--limit", 2], "bert"),
        (["translate", "the cat"], "bert"),
    ],
)
def test_what_only_translators_do_is_refused_with_what_the_model_is_good_for(
    folders: dict[str, Path], arguments: list[object], name: str, run: Any
) -> None:
    status, _, said = run(*arguments, "--model", folders[name])
    assert (status, len(said.strip().splitlines())) == (2, 1)
    kind = "an encoder" if name == "bert" else "a language model"
    assert f"holds {kind}; a translator is wanted. For {kind}: mlxdecoder" in said


def test_mistakes_that_an_encoder_could_make_are_told_from_others() -> None:
    assert all(mistake.concerns("translator") for mistake in MISTAKES)
    assert not find("no-causal-mask").concerns("encoder")
    assert not find("stale-cross-cache").concerns("encoder")
    assert find("no-source-padding-mask").concerns("encoder") and find("no-scale").concerns("encoder")


@pytest.mark.parametrize("name", NAMES)
def test_shapes_are_told_of_every_family(name: str, run: Any) -> None:
    status, printed, _ = run("shapes", "--model", FIXTURES / name, "--json")
    assert status == 0
    assert {"weights", "output"} <= {row["name"].rpartition(".")[2] for row in json.loads(printed)}
