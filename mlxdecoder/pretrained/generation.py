"""What a folder says of generation: marks and rules that are followed, and rules that are refused by name."""

from __future__ import annotations

from typing import Any

from mlxdecoder.config import ModelConfig
from mlxdecoder.pretrained.settings import Settings

START = "decoder_start_token_id"
NOT_FOLLOWED: dict[str, tuple[object, ...]] = {  # with the values that ask for nothing
    "begin_suppress_tokens": ([],),
    "constraints": ([],),
    "diversity_penalty": (0,),
    "early_stopping": (False,),
    "encoder_no_repeat_ngram_size": (0,),
    "encoder_repetition_penalty": (1,),
    "exponential_decay_length_penalty": (),
    "force_words_ids": ([],),
    "forced_bos_token_id": (),
    "forced_decoder_ids": ([],),
    "guidance_scale": (1,),
    "length_penalty": (1,),
    "min_length": (0,),
    "min_new_tokens": (0,),
    "no_repeat_ngram_size": (0,),
    "num_beam_groups": (1,),
    "penalty_alpha": (0,),
    "sequence_bias": ([], {}),
    "stop_strings": ([], ""),
    "watermarking_config": ({},),
}


def marks(settings: Settings, vocabulary: int, begin: str = "bos_token_id") -> dict[str, Any]:
    """The fields of a `ModelConfig` for generation; where nothing pads or begins, the end mark stands in.

    Raises `UserError` for a model that would never end or could not begin, and for rules that are not followed.
    """
    said = settings.of_generation
    _check_followed(said)
    ends = said.ids("eos_token_id", vocabulary)
    if not ends:
        raise said.refused("eos_token_id", "generation would never end; write the id of the end mark into this file")
    return {
        "begin_id": _begin(settings, vocabulary, begin, ends[0]),
        "end_id": ends[0],
        "more_end_ids": ends[1:],
        "banned_ids": _banned(said, vocabulary, ends),
        "forced_end": _forced(said, vocabulary, ends),
        "pad_id": padding(said, vocabulary, ends[0]),
        "repetition_penalty": said.number("repetition_penalty", 1.0, above=0),
        "renormalized": said.values.get("renormalize_logits") is not None and said.flag("renormalize_logits"),
    }


def padding(settings: Settings, vocabulary: int, instead: int) -> int:
    """The id that fills rows up; some folders have none, and some one beyond the vocabulary."""
    found = settings.maybe_whole("pad_token_id")
    return found if found is not None and 0 <= found < vocabulary else instead


def told_marks(config: ModelConfig, begin: str = "bos_token_id") -> dict[str, Any]:
    """The special ids as a config.json says them."""
    ends = list(config.end_ids) if config.more_end_ids else config.end_id
    return {begin: config.begin_id, "eos_token_id": ends, "pad_token_id": config.pad_id}


def _check_followed(said: Settings) -> None:
    for key, nothing in NOT_FOLLOWED.items():
        found = said.values.get(key)
        if found is not None and found not in nothing:
            raise said.refused(key, "it is not followed here; take it out of this file to generate without it")


def _begin(settings: Settings, vocabulary: int, key: str, end: int) -> int:
    """A translator needs a start; that of a language model is its tokenizer's matter, whichever file says it."""
    said = settings.of_generation
    places = ((said, key), (said if key == START else settings, "bos_token_id"))
    found = next((id for place, name in places if (id := place.id(name, vocabulary)) is not None), None)
    if found is None and key == START:
        raise said.refused(key, "a translation could not begin; write the id that it begins with into this file")
    return end if found is None else found


def _banned(said: Settings, vocabulary: int, ends: tuple[int, ...]) -> tuple[int, ...]:
    """What is never said; transformers does not let words that are bad ban an end mark."""
    bad = said.ids("bad_words_ids", vocabulary)
    return said.ids("suppress_tokens", vocabulary) + tuple(id for id in bad if id not in ends)


def _forced(said: Settings, vocabulary: int, ends: tuple[int, ...]) -> bool:
    """Whether the last token at the limit has to be an end mark; raises `UserError` where it has to be another one."""
    forced = said.ids("forced_eos_token_id", vocabulary)
    if not set(forced) <= set(ends):
        raise said.refused("forced_eos_token_id", f"an end mark is wanted ({', '.join(map(str, ends))})")
    return bool(forced)
