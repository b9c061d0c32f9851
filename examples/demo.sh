#!/usr/bin/env bash
# From nothing to a translation and what it looked at, in about two minutes of training: `make demo`, or
#   examples/demo.sh [FOLDER [MINUTES]]
# with `limelight` on the path. What an earlier demo left in the folder is made anew.
set -euo pipefail

examples=$(cd "$(dirname "$0")" && pwd)
folder=${1:-runs/demo}
minutes=${2:-1.7}
corpus=$folder/corpus
model=$folder/model

say() { printf '\n== %s\n' "$*"; }

rm -rf "$corpus" "$model" "$folder/attention.png"

say "Text: 20,000 sentences of a small English with their translations into Lumi, an invented language"
python "$examples/phrase_grammar.py" --pairs 20000 --seed 1 --out "$corpus"
head -n 3 "$corpus/train.tsv" | tr '\t' '\n' | sed 's/^/   /'

say "Training a small Transformer for at most $minutes minutes"
limelight train --train "$corpus/train.tsv" --valid "$corpus/valid.tsv" --source en --target lumi \
    --recipe demo --max-minutes "$minutes" --out "$model"

say "Quality on 500 sentences that training never saw"
limelight evaluate --model "$model" --test "$corpus/test.tsv"

say "Three of them"
head -n 3 "$corpus/test.tsv" | cut -f 1 | limelight translate --model "$model" -o "$folder/translations.txt"
head -n 3 "$corpus/test.tsv" | paste - "$folder/translations.txt" |
    awk -F '\t' '{ printf "   source    %s\n   reference %s\n   Limelight %s\n\n", $1, $2, $3 }'

sentence=$(sed -n 1p "$corpus/test.tsv" | cut -f 1)
say "What it looked at: $sentence"
limelight attention --model "$model" "$sentence"
limelight attention --model "$model" "$sentence" -o "$folder/attention.png"

say "Done. The model is in $model, the picture in $folder/attention.png. Now try:"
echo "   echo 'The old dog sees a small cat.' | .venv/bin/limelight translate --model $model"
