import { READY } from "./driver.ts";

/**
 * Python program that makes one transfer with s3transfer, the engine of boto3, or with AWS's C runtime (CRT). It calls
 * s3transfer's CRT module directly, because boto3 cannot direct the CRT to a custom endpoint. Its last line on stdout
 * holds the store's error code as JSON, so no message text has to be parsed.
 */
export const BOTO_SCRIPT = `
import json, os, sys
import botocore.exceptions as wrong
import botocore.session
from botocore.config import Config

asked = json.load(sys.stdin)
engine, direction = asked["engine"], asked["direction"]
endpoint, region, bucket, key, path = (asked[name] for name in ("endpoint", "region", "bucket", "key", "path"))
part_bytes, connections = asked["partBytes"], asked["connections"]
config = Config(max_pool_connections=max(10, connections), s3={"addressing_style": asked["addressing"]})
session = botocore.session.get_session()

def classic():
    from boto3.s3.transfer import TransferConfig, create_transfer_manager
    client = session.create_client("s3", endpoint_url=endpoint, region_name=region, config=config)
    return create_transfer_manager(client, TransferConfig(
        preferred_transfer_client="classic", multipart_threshold=part_bytes,
        multipart_chunksize=part_bytes, max_concurrency=connections))

def crt():
    from s3transfer.crt import (BotocoreCRTCredentialsWrapper, BotocoreCRTRequestSerializer,
                                CRTTransferManager, create_s3_crt_client)
    settings = {"region_name": region, "endpoint_url": endpoint, "config": config}
    keys = BotocoreCRTCredentialsWrapper(session.get_credentials()).to_crt_credentials_provider()
    client = create_s3_crt_client(region, crt_credentials_provider=keys, part_size=part_bytes,
                                  use_ssl=endpoint.startswith("https:"), verify=os.environ.get("AWS_CA_BUNDLE"))
    return CRTTransferManager(client, BotocoreCRTRequestSerializer(session, settings))

def tell(error):
    about = {"name": type(error).__name__, "code": None, "status": None}
    if isinstance(error, wrong.ClientError):
        about["code"] = error.response.get("Error", {}).get("Code")
        about["status"] = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    elif hasattr(error, "status_code"):
        about["status"] = error.status_code
    print(json.dumps(about), flush=True)
    raise error

try:
    with (crt if engine == "crt" else classic)() as mover:
        print('${READY}', flush=True)
        moved = mover.upload(path, bucket, key) if direction == "up" else mover.download(bucket, key, path)
        moved.result()
except Exception as error:
    tell(error)
`;
