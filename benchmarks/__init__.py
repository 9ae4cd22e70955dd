"""Speed and memory as ratios: ours beside a baseline, measured in turns in one run (`make bench`)."""
