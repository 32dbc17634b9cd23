from typing import Optional

__version__ = '2.3.1+cu121'
debug = False
cuda: Optional[str] = '12.1'
git_version = '63d5e9221bedd1546b7d364b5ce4171547db12a9'
