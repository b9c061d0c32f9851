"""The layers of a Transformer in compiled code: all of the encoder for a source, a step of the decoder for hypotheses.

All searches on a CPU run through this network, in one call (`search.py`) or in steps (`transformer.py`).
"""

from typing import NamedTuple

import numpy as np

from limelight.inference.cpu.attention import attend_memory, attend_past, attend_to, rotate
from limelight.inference.cpu.jit import Integers, Numbers, compiled, compiled_noinline
from limelight.inference.cpu.lanes import noinline
from limelight.inference.cpu.network import Network, Side, norm_at, weights_at
from limelight.inference.cpu.ssru import recur
from limelight.inference.cpu.state import Past
from limelight.inference.cpu.weights import feed_forward, multiply, normalize, project_in, project_out


class Rows(NamedTuple):
    """The active hypotheses of all slots, one after the other."""

    slots: Integers
    ids: Integers
    """The last token of each."""
    before: Numbers
    """The log-probability of each."""
    firsts: Integers
    """(slots + 1,): where those of each slot begin."""


@compiled
def _embed(side: Side, token: int, position: int, row: Numbers) -> None:
    """What the first layer reads of a token."""
    scale = np.float32(side.scale)
    if len(side.rows):
        embedded, own = side.rows[token], side.row_scales[token]
        for index in range(len(row)):
            row[index] = np.float32(embedded[index]) * own * scale
    else:
        for index in range(len(row)):
            row[index] = side.embedding[token, index] * scale
    if len(side.positions):
        added = side.positions[position]
        for index in range(len(row)):
            row[index] += added[index]


@compiled_noinline
def begin(network: Network, source: Integers, slot: int, past: Past) -> None:
    """Encode a source, and write its keys and values for cross-attention into a slot."""
    noinline()
    heads, head_size, value_size, activation, _ = network.sizes
    count, positions = len(source), np.arange(len(source))
    hidden = np.empty((count, network.source.embedding.shape[1]), dtype=np.float32)
    for row in range(count):
        _embed(network.source, source[row], row, hidden[row])
    inner, outer = heads * head_size, heads * value_size
    stride = 2 * inner + outer
    joint, context = np.empty((count, stride), np.float32), np.empty((count, outer), np.float32)
    sizes = heads, head_size, value_size, stride, stride, inner, 2 * inner
    attention, feed = network.encoder_attention, network.encoder_network
    for layer in range(len(attention.first.values)):
        norm = norm_at(attention.norm, layer)
        project_in(hidden, norm, weights_at(attention.first, layer), joint)
        if len(network.source.turns):
            rotate(joint, network.source.turns[:count], heads)
        for row in range(count):
            attend_to(joint, row * stride, joint, joint, positions, sizes, context, row * outer)
        project_out(context, weights_at(attention.last, layer), norm, hidden)
        first, last = weights_at(feed.first, layer), weights_at(feed.last, layer)
        feed_forward(hidden, norm_at(feed.norm, layer), first, activation, last)
    if network.source.norm.first:
        normalize(hidden, network.source.norm, hidden)
    for layer in range(len(past.memory)):
        multiply(hidden, weights_at(network.memory, layer), past.memory[layer, slot, :count])
    past.lengths[slot], past.ages[slot] = count, 0


@compiled_noinline
def step(network: Network, rows: Rows, past: Past) -> Numbers:
    """The output of the decoder for one more position of these hypotheses: (rows, model)."""
    noinline()
    heads, head_size, value_size, activation, cell = network.sizes
    count, inner, outer = len(rows.ids), heads * head_size, heads * value_size
    hidden = np.empty((count, network.target.embedding.shape[1]), np.float32)
    for row in range(count):
        _embed(network.target, rows.ids[row], past.ages[rows.slots[row]], hidden[row])
    joint, queries = np.empty((count, 2 * inner + outer), np.float32), np.empty((count, inner), np.float32)
    context = np.empty((count, outer), np.float32)
    attention, cross, feed = network.decoder_attention, network.cross_attention, network.decoder_network
    for layer in range(len(attention.first.values)):
        norm, first = norm_at(attention.norm, layer), weights_at(attention.first, layer)
        if cell > 0:
            recur(hidden, norm, first, rows.firsts, past.keys[layer], past.ancestors, past.ages)
        else:
            project_in(hidden, norm, first, joint)
            if len(network.target.turns):
                for row in range(count):
                    age = past.ages[rows.slots[row]]
                    rotate(joint[row : row + 1], network.target.turns[age : age + 1], heads)
            attend_past(joint, rows.firsts, past.keys[layer], past.values[layer], past.ancestors, past.ages, context)
            project_out(context, weights_at(attention.last, layer), norm, hidden)
        norm = norm_at(cross.norm, layer)
        project_in(hidden, norm, weights_at(cross.first, layer), queries)
        attend_memory(queries, rows.firsts, past.memory[layer], past.lengths, heads, context)
        project_out(context, weights_at(cross.last, layer), norm, hidden)
        first, last = weights_at(feed.first, layer), weights_at(feed.last, layer)
        feed_forward(hidden, norm_at(feed.norm, layer), first, activation, last)
    if network.target.norm.first:
        normalize(hidden, network.target.norm, hidden)
    for slot in range(len(past.ages)):
        past.ages[slot] += 1
    return hidden
