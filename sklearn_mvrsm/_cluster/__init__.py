"""Pools on other machines: dask, ray, and other backends of joblib.

A new cluster is a ``Cluster`` in ``backends``, where ``active_cluster`` chooses one.
"""

from sklearn_mvrsm._cluster.backends import Cluster, active_cluster
from sklearn_mvrsm._cluster.remote_pool import RemotePool

__all__ = ["Cluster", "RemotePool", "active_cluster"]
