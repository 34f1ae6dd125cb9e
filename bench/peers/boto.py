"""The boto3 peer: one transfer, with boto3's own engine or with AWS's C runtime.

boto.py classic|crt up|down file|folder ENDPOINT BUCKET KEY PATH

boto3 cannot send its C runtime to an endpoint of one's own, so the runtime is driven by the same s3transfer module that
boto3 uses for it.
"""

import os
import sys

import botocore.session
from botocore.config import Config

engine, direction, kind, endpoint, bucket, key, path = sys.argv[1:]
FILES_AT_A_TIME = 64


def make_client():
    session = botocore.session.get_session()
    config = Config(max_pool_connections=FILES_AT_A_TIME, s3={"addressing_style": "path"})
    return session.create_client("s3", endpoint_url=endpoint, config=config)


def classic_mover():
    from boto3.s3.transfer import TransferConfig, create_transfer_manager

    config = TransferConfig(
        preferred_transfer_client="classic",
        multipart_threshold=10_000_000,
        multipart_chunksize=10_000_000,
        max_concurrency=10 if kind == "file" else FILES_AT_A_TIME,
    )
    return create_transfer_manager(make_client(), config)


def crt_mover():
    from s3transfer.crt import (
        BotocoreCRTCredentialsWrapper,
        BotocoreCRTRequestSerializer,
        CRTTransferManager,
        create_s3_crt_client,
    )

    session = botocore.session.get_session()
    region = os.environ["AWS_REGION"]
    serializer = BotocoreCRTRequestSerializer(session, {"region_name": region, "endpoint_url": endpoint})
    credentials = BotocoreCRTCredentialsWrapper(session.get_credentials()).to_crt_credentials_provider()
    client = create_s3_crt_client(
        region,
        crt_credentials_provider=credentials,
        use_ssl=endpoint.startswith("https:"),
        verify=os.environ.get("AWS_CA_BUNDLE"),
    )
    return CRTTransferManager(client, serializer)


def names_to_move():
    if direction == "up":
        return sorted(os.listdir(path))
    os.makedirs(path, exist_ok=True)
    pages = make_client().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=key + "/")
    return [item["Key"][len(key) + 1 :] for page in pages for item in page.get("Contents", [])]


def start(mover, name, file):
    if direction == "up":
        return mover.upload(file, bucket, name)
    return mover.download(bucket, name, file)


with (classic_mover if engine == "classic" else crt_mover)() as mover:
    if kind == "file":
        started = [start(mover, key, path)]
    else:
        started = [start(mover, f"{key}/{name}", os.path.join(path, name)) for name in names_to_move()]
    for future in started:
        future.result()
