"""The boto3 peer: one transfer, with boto3's own engine or with AWS's C runtime.

boto.py classic|crt up|down file|folder ENDPOINT BUCKET KEY PATH
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config

engine, direction, kind, endpoint, bucket, key, path = sys.argv[1:]
FILES_AT_A_TIME = 64
client = boto3.client(
    "s3",
    endpoint_url=endpoint,
    config=Config(max_pool_connections=FILES_AT_A_TIME, s3={"addressing_style": "path"}),
)
config = (
    TransferConfig(preferred_transfer_client="crt")
    if engine == "crt"
    else TransferConfig(
        preferred_transfer_client="classic",
        multipart_threshold=10_000_000,
        multipart_chunksize=10_000_000,
        max_concurrency=10,
    )
)


def move(name, file):
    if direction == "up":
        client.upload_file(file, bucket, name, Config=config)
    else:
        client.download_file(bucket, name, file, Config=config)


if kind == "file":
    move(key, path)
else:
    if direction == "up":
        names = sorted(os.listdir(path))
    else:
        os.makedirs(path, exist_ok=True)
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=key + "/")
        names = [item["Key"][len(key) + 1 :] for page in pages for item in page.get("Contents", [])]
    with ThreadPoolExecutor(FILES_AT_A_TIME) as pool:
        list(pool.map(lambda name: move(f"{key}/{name}", os.path.join(path, name)), names))
