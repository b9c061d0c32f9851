/** What was changed of a translation, in words: whoever gets a picture, a file or a link has to see it. */

import { textOf } from "./sentences.js";

/** What was changed, and what the translation is without it; null for one that was not changed. */
export function changesOf({ translation, sides, before }) {
  if (!translation) return null;
  const { prefix, off } = translation;
  // Without the token of its language, with which some models begin a translation.
  const forced = sides.target.tokens.slice(0, prefix.length).filter(({ role }) => !role);
  const changes = [
    ...(forced.length ? [`the beginning “${textOf(forced)}” was forced`] : []),
    ...Object.entries(off)
      .filter(([, heads]) => heads.length)
      .map(([name, heads]) => `${name}: ${counted(heads)} off`),
  ];
  if (!changes.length) return null;
  const probability = `log-probability ${translation.log_probability.toFixed(2)}`;
  const plain = before
    ? ` Without this: “${before.text || "no words"}”, ${before.log_probability.toFixed(2)}; ${probability} now.`
    : "";
  return `Changed: ${changes.join("; ")}.${plain}`;
}

const counted = (heads) => `${heads.length > 1 ? "heads" : "head"} ${heads.join(", ")}`;
