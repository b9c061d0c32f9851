#!/usr/bin/env bash
# Translate with the bundled model, then train a small model in at most 1.7 minutes: `make demo`, or
#   examples/demo.sh [FOLDER [MINUTES]]
# with `limelight` on the path. On a slow machine training is shorter, so that the demo takes less than four minutes. Files of an
# earlier demo in the folder are replaced.
set -euo pipefail

examples=$(cd "$(dirname "$0")" && pwd)
folder=${1:-runs/demo}
corpus=$folder/corpus
model=$folder/model

say() { printf '\n== %s\n' "$*"; }

translate() { # FROM TO SENTENCE; hides the note that no model was named
    local found status=0
    found=$(limelight translate --from "$1" --to "$2" --text "$3" 2> "$folder/messages") || status=$?
    if [ "$status" -ne 0 ]; then cat "$folder/messages" >&2; exit "$status"; fi
    printf '   %s  %s\n   %s  %s\n\n' "$1" "$3" "$2" "$found"
}

mkdir -p "$folder"
rm -rf "$corpus" "$model" "$folder"/attention.png "$folder"/bundled.png

say "The model that comes with Limelight translates, offline"
translate en de "My sister drinks a cup of tea every evening."
translate en fr "My brother works in a small hotel near the station."
translate de en "Die Kinder spielen in der Küche."
translate fr en "Ma sœur boit une tasse de thé tous les soirs."

sentence="I would like to know where the station is."
say "What it attended to: $sentence"
limelight attention --to fr "$sentence"
limelight attention --to fr "$sentence" -o "$folder/bundled.png"

say "Now a model of your own. Text: 20,000 sentences of a small English with translations into Lumi, an invented language"
python "$examples/phrase_grammar.py" --pairs 20000 --seed 1 --out "$corpus"
head -n 3 "$corpus/train.tsv" | tr '\t' '\n' | sed 's/^/   /'

# The commands after training take about as long as the commands before it, and half a minute more where loops are compiled.
minutes=${2:-$(awk -v begun=$SECONDS 'BEGIN { left = (180 - 2 * begun) / 60; print (left > 1.7 ? 1.7 : left < 0.4 ? 0.4 : left) }')}
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
say "What it attended to: $sentence"
limelight attention --model "$model" "$sentence"
limelight attention --model "$model" "$sentence" -o "$folder/attention.png"

say "Done. The model is in $model, the pictures in $folder/bundled.png and $folder/attention.png. Now try:"
cat <<'NEXT'
   . .venv/bin/activate
   limelight translate "My friends live in a big house." --to de   text, a file or standard input
   limelight card                                                  what the bundled model is and how good
   limelight train --help                                          your own parallel text
NEXT
echo "   echo 'The old dog sees a small cat.' | limelight translate --model $model"
