set -e
dunlin record --duration 3 -o run.mcap
dunlin record info run.mcap
dunlin record cut run.mcap -o part.mcap --from 500ms --to 2s
dunlin replay part.mcap --rate 2
