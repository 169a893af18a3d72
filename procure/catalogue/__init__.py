"""Hardware and premises, each number with its source: the bottom layer, which reads only packaged data."""

from procure.catalogue.catalogue import Catalogue
from procure.catalogue.fact import KINDS, Fact
from procure.catalogue.packaged import Packaged
from procure.catalogue.paths import packaged_path
from procure.catalogue.sku import Sku

__all__ = ["KINDS", "Catalogue", "Fact", "Packaged", "Sku", "packaged_path"]
