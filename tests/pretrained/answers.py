"""What transformers says of small random models: logits, attention weights, greedy and beam tokens."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from tests.pretrained.variants import END, ENDING, PAD, PENALTY, VOCABULARY, Variant

Answers = dict[str, np.ndarray]
LENGTHS = (12, 9, 4)
N_TOKENS = 64
BEAM = 4

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()


def make(variant: Variant, folder: Path) -> Answers:
    """Save a random model to `folder`, and give what it answers."""
    torch.manual_seed(0)
    options = dict(variant.options)
    untied = options.pop("untied", False)
    config = getattr(transformers, variant.config)(**options)
    config._attn_implementation = "eager"
    model = getattr(transformers, variant.model)(config).eval()
    if untied:  # T5 ties its head whatever its configuration says, until a folder holds another one
        model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.shared.weight))
    _liven(model)
    _keep_going(model)
    model.save_pretrained(folder)
    return answers(model)


def read(variant: Variant, folder: Path) -> Any:
    """The model that transformers reads from a folder."""
    model, told = getattr(transformers, variant.model).from_pretrained(
        folder, attn_implementation="eager", output_loading_info=True
    )
    unused = {name for name in told["missing_keys"] if not name.startswith(("pooler", "bert.pooler", "cls"))}
    assert not unused and not told["unexpected_keys"]
    return model.eval()


def answers(model: Any) -> Answers:
    """What a model says to the questions of its kind."""
    with torch.no_grad():
        if model.config.is_encoder_decoder:
            return _of_translator(model)
        if model.config.model_type == "vit":
            return _of_image_reader(model)
        return _of_language_model(model) if model.can_generate() else _of_reader(model)


def _liven(model: Any) -> None:
    """Weights as different as those of a trained model, so that every part of it tells."""
    with torch.no_grad():
        for parameter in (one for one in model.parameters() if one.requires_grad):  # sinusoids are not learned
            noise = torch.randn_like(parameter)
            strength = 0.25 if model.config.model_type == "t5" else 0.4  # T5 does not scale its scores
            parameter.copy_(strength * noise if parameter.ndim > 1 else parameter + 0.2 * noise)


def _keep_going(model: Any) -> None:
    """All of the tokens come: the end mark is not said, but by Marian, which has to at the limit."""
    if model.config.model_type == "marian":
        model.generation_config.bad_words_ids = [[model.config.pad_token_id]]
        model.final_logits_bias.normal_()
        model.final_logits_bias[:, END] = -50
    elif model.can_generate():
        model.generation_config.suppress_tokens = [END]


def _of_language_model(model: Any) -> Answers:
    longest = max(LENGTHS)
    ids = np.random.default_rng(0).integers(3, VOCABULARY, (len(LENGTHS), longest))
    mask = np.array([[0] * (longest - length) + [1] * length for length in LENGTHS])
    ids = np.where(mask, ids, PAD)
    inputs = {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}
    positions = torch.tensor(np.maximum(mask.cumsum(axis=1) - 1, 0))
    said = model(**inputs, position_ids=positions, output_attentions=True)
    return {
        "ids": ids,
        "mask": mask,
        "logits": said.logits.numpy(),
        "decoder": torch.stack(said.attentions).numpy(),  # [L, B, H, T, T]
        **{name: made[:, longest:] for name, made in _generated(model, inputs).items()},
    }


def _of_translator(model: Any) -> Answers:
    rng, longest = np.random.default_rng(0), max(LENGTHS)
    mask = np.array([[1] * length + [0] * (longest - length) for length in LENGTHS])
    ids = np.where(mask, rng.integers(3, VOCABULARY - 1, mask.shape), model.config.pad_token_id)
    start = np.full((len(LENGTHS), 1), model.config.decoder_start_token_id)
    target = np.concatenate([start, rng.integers(3, VOCABULARY - 1, (len(LENGTHS), 7))], axis=1)
    inputs = {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}
    said = model(**inputs, decoder_input_ids=torch.tensor(target), output_attentions=True)
    return {
        "ids": ids,
        "mask": mask,
        "target": target,
        "logits": said.logits.numpy(),
        "encoder": torch.stack(said.encoder_attentions).numpy(),
        "decoder": torch.stack(said.decoder_attentions).numpy(),
        "cross": torch.stack(said.cross_attentions).numpy(),
        **{name: made[:, 1:] for name, made in _generated(model, inputs).items()},
    }


def _of_reader(model: Any) -> Answers:
    rng, longest = np.random.default_rng(0), max(LENGTHS)
    mask = np.array([[1] * length + [0] * (longest - length) for length in LENGTHS])
    ids = np.where(mask, rng.integers(3, VOCABULARY, mask.shape), PAD)
    segments = rng.integers(0, model.config.type_vocab_size, mask.shape)
    given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": segments}
    tensors = {name: torch.tensor(array) for name, array in given.items()}
    body = getattr(model, "bert", model)
    said = body(**tensors, output_attentions=True)
    classes = {"classes": model(**tensors).logits.numpy()} if hasattr(model, "classifier") else {}
    return {
        "ids": ids,
        "mask": mask,
        "segments": segments,
        "states": said.last_hidden_state.numpy(),
        "encoder": torch.stack(said.attentions).numpy(),
        **classes,
    }


def _of_image_reader(model: Any) -> Answers:
    config = model.config
    shape = (2, config.num_channels, config.image_size, config.image_size)
    pixels = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    said = model(torch.tensor(pixels), output_attentions=True)
    found = said.logits if hasattr(model, "classifier") else said.last_hidden_state[:, 0]
    return {"pixels": pixels, "states": found.numpy(), "encoder": torch.stack(said.attentions).numpy()}


def _generated(model: Any, inputs: dict[str, Any]) -> Answers:
    """What is said by all steps, and where each row ends by itself; both greedily and by a beam."""
    endless = _searched(model, inputs)
    before = model.generation_config
    model.generation_config = copy.deepcopy(before)
    model.generation_config.update(
        eos_token_id=ENDING,
        forced_eos_token_id=None,
        repetition_penalty=PENALTY,
        renormalize_logits=model.config.model_type == "marian",
    )
    ending = {f"{name}_ending": made for name, made in _searched(model, inputs).items()}
    model.generation_config = before
    return endless | ending


def _searched(model: Any, inputs: dict[str, Any]) -> Answers:
    options = {"max_new_tokens": N_TOKENS, "do_sample": False}
    return {
        "greedy": model.generate(**inputs, **options).numpy(),
        "beam": model.generate(**inputs, **options, num_beams=BEAM).numpy(),
    }
