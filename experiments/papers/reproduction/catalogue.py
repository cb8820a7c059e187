"""All figures of this room, in the order of its table."""

from reproduction import averaging, compression, ddp_paper, topology, tuning

FIGURES = {figure.name: figure
           for figure in (*ddp_paper.FIGURES, *tuning.FIGURES, *compression.FIGURES,
                          *averaging.FIGURES, *topology.FIGURES)}
