"""The names of what is asked of the worker and what it tells, in one place, with the fields of each.

Asked (window to worker)
    open        path: str | None (the packaged model)
    generate    sentence, forced: {step: token id}, sampling: {temperature, top_k, top_p, beam, seed}, mistakes: [id],
                max_tokens: int | None; a beam is followed up to the first forced token, then the most probable tokens
    compare     sentence, mistakes: [id]
    shapes      sentence
    cost        sentence
    verdict     mistakes: [id], of: id (the mistake whose contracts are tried)
    diagnose    mistakes: [id]
    inspect     corpus: [path] | [source path, target path], columns: [source, target] | None,
                languages: [source, target] | None, header: bool | None, limit: int | None, preset
    train       preset, corpus: [path] | [source path, target path] | [] (the toy grammar), columns, languages, header
                and limit as in inspect, validation: like corpus, [] (pairs are held out), folder: path,
                steps: int | None, resume: bool, probe: str, mistakes: [id]; a run that is resumed keeps to its own
                preset, corpora and mistakes
    pause, resume, stop     of: run (the request that is to pause, go on, end); a short request that is stopped before
                its turn is not answered
    twin        mistakes: [id], steps: int
    export      format: png | svg | pdf | html | json | csv | npz, path, sentence, forced, sampling, mistakes, kind,
                at_once: bool (as `compared` has it, while mistakes are on), words: bool (pieces are merged into words)
    seen        of: run (so many frames of that run have been shown; the worker may send more)
    quit

Told (worker to window); each answer has the run of its request
    welcome     version, device, kernels, catalogue: [entry], presets: [{name, title, purpose, steps,
                usual_for: toy | corpus | ""}]
    model       name, path, fingerprint, architecture, layers, encoder_layers, heads, kv_heads, width, vocab,
                parameters, kinds
    source      tokens: [str], begin: str, unknown: [str] (characters that the model has never seen),
                prompt: [str] (what the decoder reads before it writes: the begin mark; for a language model, which has
                no source, the sentence too);
                arrays  encoder.<stage> [L, H, S, S], encoder.intended [S, S]
    token       step, id, text, logprob (None: no number), candidates: [[id, text, probability]], translation, seconds,
                cache: {read, added, held} in bytes, slots: [int] of the keys;
                arrays  decoder.<stage> [L, H, 1, S], cross.<stage> [L, H, 1, S],
                        decoder.intended [1, S], cross.intended [1, S]; a prompt has a row for each token in step 0
    generated   reason: stop | length | stopped, translation, tokens: [str]
    compared    first_difference, translations: [right, wrong], how, notes: [str], queries, keys by kind;
                arrays  <kind>.right, <kind>.wrong [L, H, T, S], <kind>.intended [T, S]
    shapes      rows: [[name, axes, shape]]
    cost        rows: [[step, cached ms, uncached ms]], read: [bytes a step], recomputed: [keys a step]
    verdict     contracts: [{name, on: attention | translator | decoder | batches, states, holds: bool | None, proof}]
    diagnosis   holds, text, suspects: [{id, title, why}]
    recognised  text, sides: columns | languages | files | "" (what offered are), offered: [str],
                chosen: [place of the source, of the target] | None (two must be chosen),
                header: bool | None (no table), pairs: [[source, target]] (the first ones)
    counted     rows: how many have been read so far
    inspected   text: how many pairs training keeps, what it drops, and what to look at
    preparing   text: what is done before the first step
    training    steps, rate: highest learning rate, folder, at: step
    progress    first_step, losses: [float], rate: steps a second, left: seconds
    measured    step, loss, accuracy, exact; null for what is no number
    probe       step, translation, queries, keys: {kind: [str]}; the rows of all probes of a training are those of one
                wording, that of the corpus or of the open model, where there is one;
                arrays  <kind>.weights [L, H, T, S], <kind>.intended [T, S]
    saved       step, path: the folder of the run, which opens as its best checkpoint
    trained     reason: done | stopped | paused | diverged, step, path: as in saved, None where nothing was saved,
                message: what there is to say about the reason, or ""
    twinned     side: right | wrong, first_step, losses | step, loss, accuracy, exact |
                done, reason: done | diverged
    exported    path
    refused     message (for people; the request was wrong)
    broken      message, details (a fault of ours; the worker goes on)

Stages are scores, scaled, masked, weights and norms: the size of what each key brings into the sum, |weight| |v W_O|.
"""

from __future__ import annotations

STAGES = ("scores", "scaled", "masked", "weights", "norms")
KINDS = ("encoder", "decoder", "cross")
