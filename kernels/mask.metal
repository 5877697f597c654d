// Who may attend to whom: the structure of a mask as a few numbers, and an array only where there is no structure.
//
// A slot is a place in the sequence. Query i stands in slot first_query + i. Key j stands in slot j before `kept`, and
// in slot j + gap from there on: a rotating cache has forgotten the slots between. A key is seen where all of these
// allow it:
//   at most `ahead` slots ahead of the query (0: causal);
//   at most `reach` slots away from it, or in one of the first `always_seen` slots (a window and its sinks);
//   in neither of the two hidden spans of this row of the batch (padding);
//   of the query's document; allowed by an array.
// Slots lie below 2^29, and what is unlimited is 2^30, so that differences stay within 32 bits.

template <bool DOCUMENTS, bool ALLOWED>
struct Mask {
  int first_query, kept, gap, ahead, reach, always_seen;
  int hidden_starts[2], hidden_stops[2];
  const device int* query_documents;
  const device int* key_documents;
  const device bool* allowed;  // [T, S]
  int64_t allowed_query_stride, allowed_key_stride;

  int slot_of_key(int key) const { return key < kept ? key : key + gap; }

  bool hides(int slot) const {
    return (slot >= hidden_starts[0] && slot < hidden_stops[0]) || (slot >= hidden_starts[1] && slot < hidden_stops[1]);
  }

  // For rows and keys that are there.
  bool allows(int query, int key) const {
    const int slot = slot_of_key(key);
    const int distance = slot - (first_query + query);
    bool seen = distance <= ahead && ((distance <= reach && -distance <= reach) || slot < always_seen) && !hides(slot);
    if (DOCUMENTS) seen = seen && query_documents[query] == key_documents[key];
    if (ALLOWED) seen = seen && allowed[query * allowed_query_stride + key * allowed_key_stride];
    return seen;
  }

  // Whether some query from `first` to `last`, of documents from `span.x` to `span.y`, may see this key; true where
  // only the array could tell.
  bool reaches(int first, int last, int2 span, int key) const {
    if (DOCUMENTS && (key_documents[key] < span.x || key_documents[key] > span.y)) return false;
    const int slot = slot_of_key(key);
    const int nearest = metal::clamp(slot, first_query + first, first_query + last);
    const bool near = metal::abs(slot - nearest) <= reach || slot < always_seen;
    return near && slot - (first_query + last) <= ahead && !hides(slot);
  }

  // Whether every query from `first` to `last` sees this key; false where only an array could tell.
  bool opens(int first, int last, int key) const {
    if (DOCUMENTS || ALLOWED) return false;
    const int slot = slot_of_key(key);
    const int before = slot - (first_query + first);
    const int behind = first_query + last - slot;
    return before <= ahead && ((before <= reach && behind <= reach) || slot < always_seen) && !hides(slot);
  }

  // Whether this query may see some key from `first` to `last`, of documents from `span.x` to `span.y`; true where only
  // padding or the array could tell.
  bool is_reached(int query, int first, int last, int2 span) const {
    if (DOCUMENTS && (query_documents[query] < span.x || query_documents[query] > span.y)) return false;
    const int low = slot_of_key(first), high = slot_of_key(last), slot = first_query + query;
    const int nearest = metal::clamp(slot, low, high);
    const bool near = metal::abs(slot - nearest) <= reach || low < always_seen;
    return near && low - slot <= ahead;
  }
};

// The lowest and the highest of documents `first` to `last`, the same in every lane.
template <bool DOCUMENTS>
inline int2 span_of(const device int* documents, int first, int last, uint lane) {
  if (!DOCUMENTS) return int2(0);
  int low = documents[first], high = low;
  for (int i = first + lane; i <= last; i += 32) {
    low = metal::min(low, documents[i]);
    high = metal::max(high, documents[i]);
  }
  return int2(metal::simd_min(low), metal::simd_max(high));
}

// The mask for one row of the batch and one head; `slots` and `hidden` as kernels/structure.py lays them out. Both are
// so small that they may lie in constant memory.
template <bool DOCUMENTS, bool ALLOWED, typename Slots, typename Hidden>
inline Mask<DOCUMENTS, ALLOWED> mask_of(
    Slots slots,
    Hidden hidden,
    const device int* query_documents,
    const device int* key_documents,
    const device bool* allowed,
    int64_t allowed_query_stride,
    int64_t allowed_key_stride) {
  Mask<DOCUMENTS, ALLOWED> mask;
  mask.first_query = slots[0];
  mask.kept = slots[1];
  mask.gap = slots[2];
  mask.ahead = slots[3];
  mask.reach = slots[4];
  mask.always_seen = slots[5];
  for (int span = 0; span < 2; span++) {
    mask.hidden_starts[span] = hidden[2 * span];
    mask.hidden_stops[span] = hidden[2 * span + 1];
  }
  mask.query_documents = query_documents;
  mask.key_documents = key_documents;
  mask.allowed = allowed;
  mask.allowed_query_stride = allowed_query_stride;
  mask.allowed_key_stride = allowed_key_stride;
  return mask;
}
