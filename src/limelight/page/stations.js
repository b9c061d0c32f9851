/** The stations of the tour, in the order of the field: what each says, asks and shows. */

/** `asks` is put before the answer is shown: `about` a row of the stage, or as a question with an answer to open. */
export const STATIONS = [
  {
    title: "One vector is not enough",
    text: "Early neural translators (2014) encoded the whole sentence into one vector of fixed size and wrote the translation from it. In a drawing of such a model every line from source to target passes through c. The longer the sentence, the more c has to hold, and translations of long sentences became worse.",
    formula: "c = last state of the encoder; every target word depends on the source through c alone",
    section: "1. Before attention",
    asks: {
      question: "How many numbers does c have for a sentence of 5 words, and for one of 50?",
      answer: "As many for both: its size is fixed by the model, as 1,000 in Cho et al. 2014.",
    },
    show: { view: "heads", kind: "cross", layer: -1, head: -1, column: -1 },
  },
  {
    title: "A weighted sum",
    text: "Attention computes a new vector for each target word: a weighted sum of the vectors of all source words. The weights sum to one. What you see is the mean of all layers and heads; the model itself computes each head apart.",
    formula: "c = Σ weight · h,   weights = softmax(score(s, h))",
    section: "2. Four words: score, mask, softmax, sum",
    asks: { about: 1 },
    show: { view: "heads", kind: "cross", layer: -1, head: -1, column: -1 },
  },
  {
    title: "Query, key and value",
    text: "Three learned matrices make three vectors. The word that attends gives a query q. Each word that is attended to gives a key k and a value v. The product q · k says how well they match, softmax turns the products into weights, and the result is the sum of the values by these weights. Below are these numbers for one step of one head.",
    formula: "q = W_Q x,  k = W_K y,  v = W_V y;   Σ softmax(q · k / √d) v",
    section: "5. Scaled dot-product attention",
    asks: {
      question: "Two words have the same key, but different values. Which of them gets the larger weight?",
      answer: "Neither: weights depend on queries and keys alone. Values are only summed.",
    },
    show: { view: "steps", kind: "cross", column: -1 },
    role: "aligns",
    step: 1,
  },
  {
    title: "Self-attention",
    text: "Within one sentence, queries, keys and values come from the same words. Each word takes from the others, and from itself, what a head selects. What a layer passes on is a word in its context.",
    formula: "softmax(Q Kᵀ / √d) V,   with Q, K and V of the same sentence",
    section: "7. Self, masked self and cross: three uses of one thing",
    asks: { about: 2 },
    show: { view: "heads", kind: "encoder_self", layer: 0, head: 0, column: -1 },
  },
  {
    title: "Many heads",
    text: "One softmax gives one weighted sum. So each layer has several heads, each with matrices of its own; their results are joined and multiplied by one more learned matrix W. The numbers below the thumbnails are measured in this sentence.",
    formula: "[head 0, head 1, …] W",
    section: "6. Multi-head attention",
    asks: {
      question: "Look at the thumbnails. Which head attends to the token before, and which to the end?",
      answer:
        "Those with a diagonal just below the main one, and with a bright last column. Compare with their descriptions.",
    },
    show: { view: "heads", kind: "encoder_self", layer: -1, head: -1, row: -1, column: -1 },
  },
  {
    title: "The decoder must not see the future",
    text: "The decoder writes one token after the other. In training all target tokens are given at once, so a mask hides those that come later: the hatched cells. A masked cell has score −∞, and so its weight is exactly 0.",
    formula: "score = −∞ where the column comes after the row",
    section: "8. Masks",
    asks: {
      question: "To how many tokens can the first token attend, and to how many the fourth?",
      answer: "One and four: itself and those before it. Count the cells of a row that are not hatched.",
    },
    show: { view: "heads", kind: "decoder_self", layer: 0, head: 0, row: -1, column: -1 },
  },
  {
    title: "Where am I?",
    text: "A weighted sum ignores order: without positions, the encoder gives each word the same vector in every order of the words. So each position has a vector that is added to the word, or an angle by which queries and keys are rotated. A decoder can infer positions from its mask; an encoder without positions cannot.",
    formula: "x = embedding + position,   or q and k rotated by position",
    section: "9. Positions",
    asks: {
      question: "Could the head that is shown, which attends to a neighbor, exist in an encoder without positions?",
      answer: "No: it could not tell a neighbor from any other word.",
    },
    show: { view: "heads", kind: "encoder_self", row: -1, column: -1 },
    role: "previous",
  },
];
