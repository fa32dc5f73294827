"""NVFlare's sparse-vector filter on a client's weights, which are the data: four numbers between -1 and 1."""

import logging

from nvflare.apis.dxo import DataKind, DXO
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.app_common.filters.svt_privacy import SVTPrivacy

logging.disable(logging.CRITICAL)


def filtered(data, epsilon=0.5, release=0.5):
    update = DXO(DataKind.WEIGHT_DIFF, data={"w": data})
    kept = SVTPrivacy(fraction=0.25, epsilon=epsilon, epsilon_release=release, gamma=1.0, tau=0.5)
    return kept.process_dxo(update, Shareable(), FLContext()).data["w"]
