"""Uploads in parts, lists, reads back, copies, deletes: what a Python program does with a bucket. Prints one line of JSON."""

import hashlib
import json
import os
import sys

import boto3
from boto3.s3.transfer import TransferConfig

source, target, bucket, prefix = sys.argv[1:5]
client = boto3.client("s3", endpoint_url=os.environ["ENDPOINT"])
parts = TransferConfig(multipart_threshold=5 << 20, multipart_chunksize=5 << 20, max_concurrency=4)
key, copy = f"{prefix}boto 3/ü.bin", f"{prefix}copy.bin"
client.upload_file(source, bucket, key, Config=parts, ExtraArgs={"Metadata": {"step": "7"}})
pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix, PaginationConfig={"PageSize": 1})
listed = [entry["Key"] for page in pages for entry in page.get("Contents", [])]
client.download_file(bucket, key, target, Config=parts)
head = client.head_object(Bucket=bucket, Key=key)
client.copy({"Bucket": bucket, "Key": key}, bucket, copy, Config=parts)
copied = hashlib.sha256(client.get_object(Bucket=bucket, Key=copy)["Body"].read()).hexdigest()
url = client.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": copy})
client.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": key}, {"Key": copy}]})
left = client.list_objects_v2(Bucket=bucket, Prefix=prefix)["KeyCount"]
print(json.dumps({"listed": listed, "etag": head["ETag"], "metadata": head["Metadata"], "copied": copied, "left": left}))
