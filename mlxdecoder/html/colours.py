"""The colour maps of the page, as stops at equal distances: their luminance rises from end to end (matplotlib's)."""

WEIGHTS = (  # viridis
    "440154 48186a 472d7b 424086 3b528b 33638d 2c728e 26828e 21918c 1fa088 28ae80 3fbc73 5ec962 84d44b addc30 d8e219 "
    "fde725"
).split()
DIFFERENCES = (  # cividis
    "00224e 002e6a 1a386f 32436d 434e6c 535a6d 61656f 6f7073 7d7c78 8c8878 9b9476 aba072 bcae6c cdbb63 dec958 f0d846 "
    "fee838"
).split()
