-- The tables as the SQLite migrations up to 0045_lines leave them. Text sorts by its bytes, as in SQLite, whatever the database
-- was created with.

-- CreateTable
CREATE TABLE "User" (
    "id" TEXT COLLATE "C" NOT NULL,
    "email" TEXT COLLATE "C" NOT NULL,
    "role" TEXT COLLATE "C" NOT NULL,
    "passwordHash" TEXT COLLATE "C" NOT NULL,
    "createdAt" TIMESTAMP(3) NOT NULL,
    "disabledAt" TIMESTAMP(3),

    CONSTRAINT "User_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Session" (
    "hash" TEXT COLLATE "C" NOT NULL,
    "id" TEXT COLLATE "C" NOT NULL,
    "userId" TEXT COLLATE "C" NOT NULL,
    "createdAt" TIMESTAMP(3) NOT NULL,
    "seenAt" TIMESTAMP(3) NOT NULL,
    "expiresAt" TIMESTAMP(3) NOT NULL,
    "address" TEXT COLLATE "C" NOT NULL DEFAULT '',
    "agent" TEXT COLLATE "C" NOT NULL DEFAULT '',

    CONSTRAINT "Session_pkey" PRIMARY KEY ("hash")
);

-- CreateTable
CREATE TABLE "OneTimeCode" (
    "id" TEXT COLLATE "C" NOT NULL,
    "hash" TEXT COLLATE "C" NOT NULL,
    "kind" TEXT COLLATE "C" NOT NULL,
    "email" TEXT COLLATE "C" NOT NULL,
    "role" TEXT COLLATE "C" NOT NULL,
    "userId" TEXT COLLATE "C",
    "madeById" TEXT COLLATE "C" NOT NULL,
    "createdAt" TIMESTAMP(3) NOT NULL,
    "expiresAt" TIMESTAMP(3) NOT NULL,
    "usedAt" TIMESTAMP(3),
    "revokedAt" TIMESTAMP(3),

    CONSTRAINT "OneTimeCode_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ApiToken" (
    "id" TEXT COLLATE "C" NOT NULL,
    "hash" TEXT COLLATE "C" NOT NULL,
    "hint" TEXT COLLATE "C" NOT NULL,
    "name" TEXT COLLATE "C" NOT NULL,
    "role" TEXT COLLATE "C" NOT NULL,
    "userId" TEXT COLLATE "C" NOT NULL,
    "createdAt" TIMESTAMP(3) NOT NULL,
    "expiresAt" TIMESTAMP(3) NOT NULL,
    "lastUsedAt" TIMESTAMP(3),
    "revokedAt" TIMESTAMP(3),

    CONSTRAINT "ApiToken_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Profile" (
    "id" TEXT COLLATE "C" NOT NULL,
    "version" INTEGER NOT NULL,
    "name" TEXT COLLATE "C" NOT NULL,
    "provider" TEXT COLLATE "C" NOT NULL,
    "bucket" TEXT COLLATE "C" NOT NULL,
    "region" TEXT COLLATE "C" NOT NULL,
    "prefix" TEXT COLLATE "C" NOT NULL,
    "endpoint" TEXT COLLATE "C" NOT NULL,
    "workerEndpoint" TEXT COLLATE "C",
    "browserEndpoint" TEXT COLLATE "C",
    "addressing" TEXT COLLATE "C" NOT NULL,
    "trustCa" TEXT COLLATE "C",
    "trustPin" TEXT COLLATE "C",
    "accessKeyHint" TEXT COLLATE "C" NOT NULL,
    "keyBy" TEXT COLLATE "C",
    "createdAt" TIMESTAMP(3) NOT NULL,
    "updatedAt" TIMESTAMP(3) NOT NULL,
    "lastTest" TEXT COLLATE "C",
    "found" TEXT COLLATE "C",
    "notes" TEXT COLLATE "C" NOT NULL DEFAULT '',
    "prices" TEXT COLLATE "C",
    "packBelowBytes" BIGINT NOT NULL DEFAULT 262144,
    "packZstd" BOOLEAN NOT NULL DEFAULT false,
    "tunePartBytes" BIGINT,
    "tuneConnections" INTEGER,
    "restoresAtOnce" INTEGER,
    "sealing" TEXT COLLATE "C" NOT NULL DEFAULT 'off',
    "sealKeyId" TEXT COLLATE "C",

    CONSTRAINT "Profile_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ProfileSecret" (
    "profileId" TEXT COLLATE "C" NOT NULL,
    "sealed" TEXT COLLATE "C" NOT NULL,
    "keyVersion" INTEGER NOT NULL DEFAULT 1,
    "updatedAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "ProfileSecret_pkey" PRIMARY KEY ("profileId")
);

-- CreateTable
CREATE TABLE "SealKey" (
    "id" TEXT COLLATE "C" NOT NULL,
    "profileId" TEXT COLLATE "C" NOT NULL,
    "publicKey" TEXT COLLATE "C" NOT NULL,
    "createdAt" TIMESTAMP(3) NOT NULL,
    "isImported" BOOLEAN NOT NULL DEFAULT false,
    "exportedAt" TIMESTAMP(3),
    "exportedBy" TEXT COLLATE "C",

    CONSTRAINT "SealKey_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "SealKeySecret" (
    "keyId" TEXT COLLATE "C" NOT NULL,
    "sealed" TEXT COLLATE "C" NOT NULL,
    "keyVersion" INTEGER NOT NULL DEFAULT 1,
    "updatedAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "SealKeySecret_pkey" PRIMARY KEY ("keyId")
);

-- CreateTable
CREATE TABLE "Canary" (
    "id" INTEGER NOT NULL,
    "sealed" TEXT COLLATE "C" NOT NULL,
    "keyVersion" INTEGER NOT NULL DEFAULT 1,
    "createdAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "Canary_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "JoinToken" (
    "id" TEXT COLLATE "C" NOT NULL,
    "hash" TEXT COLLATE "C" NOT NULL,
    "hint" TEXT COLLATE "C" NOT NULL,
    "label" TEXT COLLATE "C" NOT NULL,
    "fleet" TEXT COLLATE "C" NOT NULL DEFAULT 'default',
    "runs" TEXT COLLATE "C",
    "profileId" TEXT COLLATE "C" NOT NULL,
    "uses" INTEGER NOT NULL,
    "maxUses" INTEGER NOT NULL,
    "createdAt" TIMESTAMP(3) NOT NULL,
    "expiresAt" TIMESTAMP(3) NOT NULL,
    "revokedAt" TIMESTAMP(3),

    CONSTRAINT "JoinToken_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Node" (
    "id" TEXT COLLATE "C" NOT NULL,
    "name" TEXT COLLATE "C" NOT NULL,
    "credentialHash" TEXT COLLATE "C" NOT NULL,
    "credentialAt" TIMESTAMP(3),
    "nextHash" TEXT COLLATE "C",
    "overlapUntil" TIMESTAMP(3),
    "rotateAskedAt" TIMESTAMP(3),
    "fleet" TEXT COLLATE "C" NOT NULL DEFAULT 'default',
    "identity" TEXT COLLATE "C",
    "profileId" TEXT COLLATE "C" NOT NULL,
    "facts" TEXT COLLATE "C" NOT NULL,
    "enrolledAt" TIMESTAMP(3) NOT NULL,
    "runs" TEXT COLLATE "C",
    "namedRuns" TEXT COLLATE "C",
    "tokenId" TEXT COLLATE "C",
    "lastSeenAt" TIMESTAMP(3),
    "leftAt" TIMESTAMP(3),
    "revokedAt" TIMESTAMP(3),
    "acceptedSeq" INTEGER NOT NULL,
    "lastReport" TEXT COLLATE "C",

    CONSTRAINT "Node_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Run" (
    "name" TEXT COLLATE "C" NOT NULL,
    "profileId" TEXT COLLATE "C" NOT NULL,
    "createdAt" TIMESTAMP(3) NOT NULL,
    "highestSeen" INTEGER DEFAULT 0,
    "handedToId" TEXT COLLATE "C",
    "handedAt" TIMESTAMP(3),
    "copies" INTEGER,
    "lineSeenAt" TIMESTAMP(3),
    "lineSeenBy" TEXT COLLATE "C",

    CONSTRAINT "Run_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "RunHome" (
    "run" TEXT COLLATE "C" NOT NULL,
    "profileId" TEXT COLLATE "C" NOT NULL,
    "position" INTEGER NOT NULL,
    "addedAt" TIMESTAMP(3) NOT NULL,
    "addedBy" TEXT COLLATE "C" NOT NULL,

    CONSTRAINT "RunHome_pkey" PRIMARY KEY ("run","profileId")
);

-- CreateTable
CREATE TABLE "CheckpointCopy" (
    "checkpointId" TEXT COLLATE "C" NOT NULL,
    "profileId" TEXT COLLATE "C" NOT NULL,
    "run" TEXT COLLATE "C" NOT NULL,
    "bucket" TEXT COLLATE "C" NOT NULL,
    "prefix" TEXT COLLATE "C" NOT NULL,
    "state" TEXT COLLATE "C" NOT NULL,
    "attempt" TEXT COLLATE "C" NOT NULL,
    "nodeId" TEXT COLLATE "C" NOT NULL,
    "startedAt" TIMESTAMP(3) NOT NULL,
    "committedAt" TIMESTAMP(3),
    "manifestKey" TEXT COLLATE "C",
    "manifestSha256" TEXT COLLATE "C",
    "manifest" TEXT COLLATE "C",
    "verifiedAt" TIMESTAMP(3),
    "damagedAt" TIMESTAMP(3),
    "damage" TEXT COLLATE "C",

    CONSTRAINT "CheckpointCopy_pkey" PRIMARY KEY ("checkpointId","profileId")
);

-- CreateTable
CREATE TABLE "Epoch" (
    "run" TEXT COLLATE "C" NOT NULL,
    "epoch" INTEGER NOT NULL,
    "parentEpoch" INTEGER,
    "parentStep" BIGINT,
    "nodeId" TEXT COLLATE "C" NOT NULL,
    "claimedAt" TIMESTAMP(3) NOT NULL,
    "isChosen" BOOLEAN NOT NULL DEFAULT false,
    "groupOf" INTEGER,
    "branch" TEXT COLLATE "C",
    "passedOver" TEXT COLLATE "C",

    CONSTRAINT "Epoch_pkey" PRIMARY KEY ("run","epoch")
);

-- CreateTable
CREATE TABLE "EpochMember" (
    "run" TEXT COLLATE "C" NOT NULL,
    "epoch" INTEGER NOT NULL,
    "rank" INTEGER NOT NULL,
    "nodeId" TEXT COLLATE "C" NOT NULL,
    "start" TEXT COLLATE "C" NOT NULL,
    "joinedAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "EpochMember_pkey" PRIMARY KEY ("run","epoch","rank")
);

-- CreateTable
CREATE TABLE "Checkpoint" (
    "id" TEXT COLLATE "C" NOT NULL,
    "run" TEXT COLLATE "C" NOT NULL,
    "step" BIGINT NOT NULL,
    "writerEpoch" INTEGER NOT NULL,
    "attempt" TEXT COLLATE "C" NOT NULL,
    "nodeId" TEXT COLLATE "C" NOT NULL,
    "profileId" TEXT COLLATE "C" NOT NULL,
    "bucket" TEXT COLLATE "C" NOT NULL,
    "prefix" TEXT COLLATE "C" NOT NULL,
    "state" TEXT COLLATE "C" NOT NULL,
    "framework" TEXT COLLATE "C",
    "metrics" TEXT COLLATE "C" NOT NULL,
    "fileCount" INTEGER NOT NULL,
    "sizeBytes" BIGINT NOT NULL,
    "capturedAt" TIMESTAMP(3) NOT NULL,
    "announcedAt" TIMESTAMP(3) NOT NULL,
    "committedAt" TIMESTAMP(3),
    "manifestKey" TEXT COLLATE "C",
    "manifestSha256" TEXT COLLATE "C",
    "objectCount" INTEGER,
    "objectBytes" BIGINT,
    "verifiedAt" TIMESTAMP(3),
    "damagedAt" TIMESTAMP(3),
    "damage" TEXT COLLATE "C",
    "sealKeyId" TEXT COLLATE "C",
    "role" TEXT COLLATE "C",
    "place" TEXT COLLATE "C",
    "doubt" TEXT COLLATE "C",
    "piece" TEXT COLLATE "C",
    "joinedId" TEXT COLLATE "C",
    "abandonedAt" TIMESTAMP(3),

    CONSTRAINT "Checkpoint_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Attempt" (
    "run" TEXT COLLATE "C" NOT NULL,
    "attempt" TEXT COLLATE "C" NOT NULL,
    "writerEpoch" INTEGER NOT NULL,
    "nodeId" TEXT COLLATE "C" NOT NULL,
    "announcedAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "Attempt_pkey" PRIMARY KEY ("run","attempt")
);

-- CreateTable
CREATE TABLE "CheckpointContent" (
    "checkpointId" TEXT COLLATE "C" NOT NULL,
    "files" TEXT COLLATE "C" NOT NULL,
    "manifest" TEXT COLLATE "C",

    CONSTRAINT "CheckpointContent_pkey" PRIMARY KEY ("checkpointId")
);

-- CreateTable
CREATE TABLE "Adoption" (
    "checkpointId" TEXT COLLATE "C" NOT NULL,
    "profileId" TEXT COLLATE "C" NOT NULL,
    "place" TEXT COLLATE "C" NOT NULL,
    "verdict" TEXT COLLATE "C" NOT NULL,
    "reason" TEXT COLLATE "C" NOT NULL,
    "adoptedAt" TIMESTAMP(3) NOT NULL,
    "adoptedBy" TEXT COLLATE "C" NOT NULL,
    "sums" TEXT COLLATE "C",
    "summedAt" TIMESTAMP(3),
    "summedBy" TEXT COLLATE "C",

    CONSTRAINT "Adoption_pkey" PRIMARY KEY ("checkpointId")
);

-- CreateTable
CREATE TABLE "NodePrice" (
    "scope" TEXT COLLATE "C" NOT NULL,
    "perHour" DOUBLE PRECISION NOT NULL,
    "currency" TEXT COLLATE "C" NOT NULL,
    "updatedAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "NodePrice_pkey" PRIMARY KEY ("scope")
);

-- CreateTable
CREATE TABLE "Transfer" (
    "id" TEXT COLLATE "C" NOT NULL,
    "nodeId" TEXT COLLATE "C" NOT NULL,
    "direction" TEXT COLLATE "C" NOT NULL,
    "state" TEXT COLLATE "C" NOT NULL,
    "checkpointId" TEXT COLLATE "C" NOT NULL,
    "run" TEXT COLLATE "C" NOT NULL,
    "step" BIGINT NOT NULL,
    "bucket" TEXT COLLATE "C" NOT NULL,
    "place" TEXT COLLATE "C" NOT NULL,
    "bytesDone" BIGINT NOT NULL,
    "bytesTotal" BIGINT NOT NULL,
    "sentBytes" BIGINT NOT NULL,
    "filesDone" INTEGER NOT NULL,
    "filesTotal" INTEGER NOT NULL,
    "connections" INTEGER NOT NULL,
    "retries" INTEGER NOT NULL,
    "fault" TEXT COLLATE "C",
    "startedBy" TEXT COLLATE "C" NOT NULL,
    "createdAt" TIMESTAMP(3) NOT NULL,
    "startedAt" TIMESTAMP(3),
    "endedAt" TIMESTAMP(3),

    CONSTRAINT "Transfer_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "QueuedRestore" (
    "transferId" TEXT COLLATE "C" NOT NULL,
    "requestId" TEXT COLLATE "C" NOT NULL,
    "batchId" TEXT COLLATE "C" NOT NULL,
    "nodeId" TEXT COLLATE "C" NOT NULL,
    "profileId" TEXT COLLATE "C" NOT NULL,
    "checkpointId" TEXT COLLATE "C" NOT NULL,
    "body" TEXT COLLATE "C" NOT NULL,
    "mayFallBack" BOOLEAN NOT NULL,
    "position" INTEGER NOT NULL,
    "createdAt" TIMESTAMP(3) NOT NULL,
    "releasedAt" TIMESTAMP(3),

    CONSTRAINT "QueuedRestore_pkey" PRIMARY KEY ("transferId")
);

-- CreateTable
CREATE TABLE "DrillRule" (
    "run" TEXT COLLATE "C" NOT NULL,
    "everyMs" BIGINT NOT NULL,
    "setAt" TIMESTAMP(3) NOT NULL,
    "setBy" TEXT COLLATE "C" NOT NULL,

    CONSTRAINT "DrillRule_pkey" PRIMARY KEY ("run")
);

-- CreateTable
CREATE TABLE "Command" (
    "id" TEXT COLLATE "C" NOT NULL,
    "requestId" TEXT COLLATE "C" NOT NULL,
    "nodeId" TEXT COLLATE "C" NOT NULL,
    "kind" TEXT COLLATE "C" NOT NULL,
    "transferId" TEXT COLLATE "C" NOT NULL,
    "checkpointId" TEXT COLLATE "C",
    "body" TEXT COLLATE "C" NOT NULL,
    "state" TEXT COLLATE "C" NOT NULL,
    "fault" TEXT COLLATE "C",
    "createdAt" TIMESTAMP(3) NOT NULL,
    "acceptedAt" TIMESTAMP(3),
    "endedAt" TIMESTAMP(3),
    "batchId" TEXT COLLATE "C",
    "run" TEXT COLLATE "C",
    "actor" TEXT COLLATE "C",
    "expiresAt" TIMESTAMP(3),
    "detail" TEXT COLLATE "C",

    CONSTRAINT "Command_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Loss" (
    "id" TEXT COLLATE "C" NOT NULL,
    "at" TIMESTAMP(3) NOT NULL,
    "run" TEXT COLLATE "C" NOT NULL,
    "epoch" INTEGER NOT NULL,
    "nodeId" TEXT COLLATE "C" NOT NULL,
    "byNodeId" TEXT COLLATE "C" NOT NULL,
    "fromStep" BIGINT,
    "lastStep" BIGINT NOT NULL,
    "lostSteps" BIGINT NOT NULL,
    "lostMs" BIGINT NOT NULL,
    "isEstimated" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "Loss_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Event" (
    "id" SERIAL NOT NULL,
    "at" TIMESTAMP(3) NOT NULL,
    "kind" TEXT COLLATE "C" NOT NULL,
    "work" TEXT COLLATE "C" NOT NULL,
    "nodeId" TEXT COLLATE "C",
    "nodeName" TEXT COLLATE "C",
    "run" TEXT COLLATE "C",
    "step" BIGINT,
    "text" TEXT COLLATE "C" NOT NULL,
    "detail" TEXT COLLATE "C",
    "fault" TEXT COLLATE "C",

    CONSTRAINT "Event_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Audit" (
    "id" SERIAL NOT NULL,
    "at" TIMESTAMP(3) NOT NULL,
    "actorKind" TEXT COLLATE "C" NOT NULL DEFAULT 'nobody',
    "actorId" TEXT COLLATE "C",
    "tokenId" TEXT COLLATE "C",
    "actor" TEXT COLLATE "C" NOT NULL,
    "action" TEXT COLLATE "C" NOT NULL,
    "subject" TEXT COLLATE "C" NOT NULL,
    "subjectId" TEXT COLLATE "C",
    "address" TEXT COLLATE "C",
    "times" INTEGER NOT NULL DEFAULT 1,
    "lastAt" TIMESTAMP(3),

    CONSTRAINT "Audit_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Probe" (
    "id" TEXT COLLATE "C" NOT NULL,
    "nodeId" TEXT COLLATE "C" NOT NULL,
    "machine" TEXT COLLATE "C" NOT NULL,
    "profileId" TEXT COLLATE "C" NOT NULL,
    "at" TIMESTAMP(3) NOT NULL,
    "outcome" TEXT COLLATE "C" NOT NULL,
    "reason" TEXT COLLATE "C" NOT NULL,
    "rttMs" DOUBLE PRECISION,
    "clockSkewMs" DOUBLE PRECISION,
    "up" DOUBLE PRECISION,
    "down" DOUBLE PRECISION,
    "leastUp" DOUBLE PRECISION,
    "leastDown" DOUBLE PRECISION,
    "mostRttMs" DOUBLE PRECISION,
    "isUpSteady" BOOLEAN,
    "isDownSteady" BOOLEAN,
    "attempts" INTEGER NOT NULL,
    "tookMs" DOUBLE PRECISION NOT NULL,

    CONSTRAINT "Probe_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Reallocation" (
    "id" TEXT COLLATE "C" NOT NULL,
    "at" TIMESTAMP(3) NOT NULL,
    "nodeId" TEXT COLLATE "C" NOT NULL,
    "machine" TEXT COLLATE "C" NOT NULL,
    "profileId" TEXT COLLATE "C" NOT NULL,
    "isGranted" BOOLEAN NOT NULL,
    "reason" TEXT COLLATE "C" NOT NULL,
    "up" DOUBLE PRECISION,
    "down" DOUBLE PRECISION,
    "rttMs" DOUBLE PRECISION,

    CONSTRAINT "Reallocation_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "LinkPolicy" (
    "id" INTEGER NOT NULL,
    "up" DOUBLE PRECISION,
    "down" DOUBLE PRECISION,
    "rttMs" DOUBLE PRECISION,
    "version" INTEGER NOT NULL,
    "setAt" TIMESTAMP(3) NOT NULL,
    "setBy" TEXT COLLATE "C" NOT NULL,

    CONSTRAINT "LinkPolicy_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "AdviceDismissal" (
    "key" TEXT COLLATE "C" NOT NULL,
    "reason" TEXT COLLATE "C" NOT NULL,
    "at" TIMESTAMP(3) NOT NULL,
    "by" TEXT COLLATE "C" NOT NULL,
    "until" TIMESTAMP(3),

    CONSTRAINT "AdviceDismissal_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "Doubt" (
    "id" SERIAL NOT NULL,
    "kind" TEXT COLLATE "C" NOT NULL,
    "at" TIMESTAMP(3) NOT NULL,
    "asOf" TIMESTAMP(3),
    "listedAt" TIMESTAMP(3),
    "found" TEXT COLLATE "C",
    "confirmedAt" TIMESTAMP(3),
    "confirmedBy" TEXT COLLATE "C",

    CONSTRAINT "Doubt_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "UpkeepRun" (
    "id" SERIAL NOT NULL,
    "kind" TEXT COLLATE "C" NOT NULL,
    "profileId" TEXT COLLATE "C",
    "startedAt" TIMESTAMP(3) NOT NULL,
    "endedAt" TIMESTAMP(3) NOT NULL,
    "fault" TEXT COLLATE "C",
    "result" TEXT COLLATE "C",

    CONSTRAINT "UpkeepRun_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "AlertRule" (
    "id" TEXT COLLATE "C" NOT NULL,
    "name" TEXT COLLATE "C" NOT NULL,
    "kind" TEXT COLLATE "C" NOT NULL,
    "params" TEXT COLLATE "C" NOT NULL,
    "scope" TEXT COLLATE "C" NOT NULL,
    "severity" TEXT COLLATE "C" NOT NULL,
    "channels" TEXT COLLATE "C" NOT NULL,
    "quiet" TEXT COLLATE "C",
    "isEnabled" BOOLEAN NOT NULL,
    "mutedUntil" TIMESTAMP(3),
    "muteReason" TEXT COLLATE "C" NOT NULL DEFAULT '',
    "mutedBy" TEXT COLLATE "C" NOT NULL DEFAULT '',
    "toldAt" TIMESTAMP(3),
    "version" INTEGER NOT NULL,
    "createdAt" TIMESTAMP(3) NOT NULL,
    "updatedAt" TIMESTAMP(3) NOT NULL,
    "removedAt" TIMESTAMP(3),

    CONSTRAINT "AlertRule_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Alert" (
    "id" TEXT COLLATE "C" NOT NULL,
    "ruleId" TEXT COLLATE "C" NOT NULL,
    "openKey" TEXT COLLATE "C",
    "severity" TEXT COLLATE "C" NOT NULL,
    "nodeId" TEXT COLLATE "C",
    "nodeName" TEXT COLLATE "C",
    "run" TEXT COLLATE "C",
    "text" TEXT COLLATE "C" NOT NULL,
    "since" TIMESTAMP(3) NOT NULL,
    "firedAt" TIMESTAMP(3) NOT NULL,
    "resolvedAt" TIMESTAMP(3),
    "acknowledgedAt" TIMESTAMP(3),
    "acknowledgedBy" TEXT COLLATE "C",
    "toldAt" TIMESTAMP(3),
    "toldEndAt" TIMESTAMP(3),

    CONSTRAINT "Alert_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "AlertChannel" (
    "id" TEXT COLLATE "C" NOT NULL,
    "name" TEXT COLLATE "C" NOT NULL,
    "kind" TEXT COLLATE "C" NOT NULL,
    "hint" TEXT COLLATE "C" NOT NULL,
    "perMinute" INTEGER NOT NULL,
    "isEnabled" BOOLEAN NOT NULL,
    "isDefault" BOOLEAN NOT NULL DEFAULT false,
    "version" INTEGER NOT NULL,
    "createdAt" TIMESTAMP(3) NOT NULL,
    "updatedAt" TIMESTAMP(3) NOT NULL,
    "lastSentAt" TIMESTAMP(3),
    "lastFault" TEXT COLLATE "C",

    CONSTRAINT "AlertChannel_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "AlertChannelSecret" (
    "channelId" TEXT COLLATE "C" NOT NULL,
    "sealed" TEXT COLLATE "C" NOT NULL,
    "keyVersion" INTEGER NOT NULL,

    CONSTRAINT "AlertChannelSecret_pkey" PRIMARY KEY ("channelId")
);

-- CreateTable
CREATE TABLE "AlertMessage" (
    "id" TEXT COLLATE "C" NOT NULL,
    "channelId" TEXT COLLATE "C" NOT NULL,
    "body" TEXT COLLATE "C" NOT NULL,
    "rank" INTEGER NOT NULL DEFAULT 1,
    "state" TEXT COLLATE "C" NOT NULL,
    "tries" INTEGER NOT NULL,
    "nextAt" TIMESTAMP(3) NOT NULL,
    "createdAt" TIMESTAMP(3) NOT NULL,
    "endedAt" TIMESTAMP(3),
    "fault" TEXT COLLATE "C",

    CONSTRAINT "AlertMessage_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "LinkRecord" (
    "id" SERIAL NOT NULL,
    "at" TIMESTAMP(3) NOT NULL,
    "kind" TEXT COLLATE "C" NOT NULL,
    "subjectId" TEXT COLLATE "C" NOT NULL,
    "node" INTEGER NOT NULL,
    "seriesId" INTEGER NOT NULL,
    "run" TEXT COLLATE "C",
    "outcome" TEXT COLLATE "C" NOT NULL,
    "fault" TEXT COLLATE "C",
    "rttMs" DOUBLE PRECISION,
    "up" DOUBLE PRECISION,
    "down" DOUBLE PRECISION,
    "effective" DOUBLE PRECISION,
    "rampMs" DOUBLE PRECISION,
    "tookMs" DOUBLE PRECISION,
    "isSteady" BOOLEAN,
    "burstRate" DOUBLE PRECISION,
    "lateRate" DOUBLE PRECISION,
    "sizeBytes" BIGINT,
    "sentBytes" BIGINT,
    "parts" INTEGER,
    "partBytes" BIGINT,
    "connections" INTEGER,
    "retries" INTEGER,

    CONSTRAINT "LinkRecord_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "HistorySeries" (
    "id" SERIAL NOT NULL,
    "node" INTEGER NOT NULL,
    "profileId" TEXT COLLATE "C" NOT NULL,
    "provider" TEXT COLLATE "C" NOT NULL,
    "bucketRegion" TEXT COLLATE "C" NOT NULL,
    "nodeRegion" TEXT COLLATE "C" NOT NULL,
    "engine" TEXT COLLATE "C" NOT NULL,
    "wholeId" INTEGER NOT NULL,

    CONSTRAINT "HistorySeries_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "HistoryNode" (
    "number" SERIAL NOT NULL,
    "nodeId" TEXT COLLATE "C" NOT NULL,

    CONSTRAINT "HistoryNode_pkey" PRIMARY KEY ("number")
);

-- CreateTable
CREATE TABLE "HistoryMinute" (
    "shelf" INTEGER NOT NULL,
    "minute" INTEGER NOT NULL,
    "body" BYTEA NOT NULL,

    CONSTRAINT "HistoryMinute_pkey" PRIMARY KEY ("shelf","minute")
);

-- CreateTable
CREATE TABLE "FleetMinute" (
    "minute" INTEGER NOT NULL,
    "upBytesPerSecond" DOUBLE PRECISION NOT NULL,
    "downBytesPerSecond" DOUBLE PRECISION NOT NULL,
    "atRiskBytes" DOUBLE PRECISION NOT NULL,
    "lossMs" DOUBLE PRECISION NOT NULL,
    "rttSumMs" DOUBLE PRECISION NOT NULL,
    "rttCount" INTEGER NOT NULL,

    CONSTRAINT "FleetMinute_pkey" PRIMARY KEY ("minute")
);

-- CreateTable
CREATE TABLE "HistoryRoll" (
    "level" INTEGER NOT NULL,
    "shelf" INTEGER NOT NULL,
    "stretch" INTEGER NOT NULL,
    "body" BYTEA NOT NULL,

    CONSTRAINT "HistoryRoll_pkey" PRIMARY KEY ("level","shelf","stretch")
);

-- CreateTable
CREATE TABLE "HistoryMark" (
    "level" INTEGER NOT NULL,
    "through" INTEGER NOT NULL,

    CONSTRAINT "HistoryMark_pkey" PRIMARY KEY ("level")
);

-- CreateTable
CREATE TABLE "RegionRule" (
    "position" INTEGER NOT NULL,
    "kind" TEXT COLLATE "C" NOT NULL,
    "pattern" TEXT COLLATE "C" NOT NULL,
    "region" TEXT COLLATE "C" NOT NULL,

    CONSTRAINT "RegionRule_pkey" PRIMARY KEY ("position")
);

-- CreateTable
CREATE TABLE "KeepRecord" (
    "id" TEXT COLLATE "C" NOT NULL,
    "run" TEXT COLLATE "C" NOT NULL,
    "checkpointId" TEXT COLLATE "C" NOT NULL,
    "kind" TEXT COLLATE "C" NOT NULL,
    "text" TEXT COLLATE "C" NOT NULL,
    "at" TIMESTAMP(3) NOT NULL,
    "by" TEXT COLLATE "C" NOT NULL,
    "key" TEXT COLLATE "C" NOT NULL,
    "ends" TEXT COLLATE "C" NOT NULL,
    "endedById" TEXT COLLATE "C",
    "until" TIMESTAMP(3),
    "removingAt" TIMESTAMP(3),
    "fault" TEXT COLLATE "C",
    "tryAt" TIMESTAMP(3),

    CONSTRAINT "KeepRecord_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "OwedWords" (
    "checkpointId" TEXT COLLATE "C" NOT NULL,
    "profileId" TEXT COLLATE "C" NOT NULL,
    "since" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "OwedWords_pkey" PRIMARY KEY ("checkpointId","profileId")
);

-- CreateTable
CREATE TABLE "KeepPolicy" (
    "run" TEXT COLLATE "C" NOT NULL,
    "body" TEXT COLLATE "C",
    "version" INTEGER NOT NULL,
    "updatedAt" TIMESTAMP(3) NOT NULL,
    "updatedBy" TEXT COLLATE "C" NOT NULL,

    CONSTRAINT "KeepPolicy_pkey" PRIMARY KEY ("run")
);

-- CreateTable
CREATE TABLE "BrowserUpload" (
    "id" TEXT COLLATE "C" NOT NULL,
    "userId" TEXT COLLATE "C" NOT NULL,
    "profileId" TEXT COLLATE "C" NOT NULL,
    "key" TEXT COLLATE "C" NOT NULL,
    "sizeBytes" BIGINT NOT NULL,
    "partBytes" BIGINT NOT NULL,
    "uploadId" TEXT COLLATE "C",
    "nonce" TEXT COLLATE "C" NOT NULL,
    "checksum" TEXT COLLATE "C" NOT NULL,
    "replaces" BOOLEAN NOT NULL,
    "startedAt" TIMESTAMP(3) NOT NULL,
    "endedAt" TIMESTAMP(3),
    "etag" TEXT COLLATE "C",

    CONSTRAINT "BrowserUpload_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "BucketJob" (
    "id" TEXT COLLATE "C" NOT NULL,
    "profileId" TEXT COLLATE "C" NOT NULL,
    "profileName" TEXT COLLATE "C" NOT NULL,
    "bucket" TEXT COLLATE "C" NOT NULL,
    "action" TEXT COLLATE "C" NOT NULL,
    "state" TEXT COLLATE "C" NOT NULL,
    "asked" TEXT COLLATE "C" NOT NULL,
    "plan" TEXT COLLATE "C",
    "doneObjects" INTEGER NOT NULL DEFAULT 0,
    "doneBytes" BIGINT NOT NULL DEFAULT 0,
    "failedObjects" INTEGER NOT NULL DEFAULT 0,
    "faults" TEXT COLLATE "C" NOT NULL DEFAULT '[]',
    "fault" TEXT COLLATE "C",
    "actorId" TEXT COLLATE "C",
    "startedBy" TEXT COLLATE "C" NOT NULL,
    "plannedAt" TIMESTAMP(3) NOT NULL,
    "startedAt" TIMESTAMP(3),
    "endedAt" TIMESTAMP(3),

    CONSTRAINT "BucketJob_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "BucketJobChunk" (
    "jobId" TEXT COLLATE "C" NOT NULL,
    "seq" INTEGER NOT NULL,
    "objects" TEXT COLLATE "C" NOT NULL,

    CONSTRAINT "BucketJobChunk_pkey" PRIMARY KEY ("jobId","seq")
);

-- CreateTable
CREATE TABLE "ProfileBenchKey" (
    "profileId" TEXT COLLATE "C" NOT NULL,
    "sealed" TEXT COLLATE "C" NOT NULL,
    "keyVersion" INTEGER NOT NULL DEFAULT 1,
    "accessKeyHint" TEXT COLLATE "C",
    "hasGrant" BOOLEAN NOT NULL,
    "updatedAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "ProfileBenchKey_pkey" PRIMARY KEY ("profileId")
);

-- CreateTable
CREATE TABLE "Benchmark" (
    "id" TEXT COLLATE "C" NOT NULL,
    "name" TEXT COLLATE "C" NOT NULL,
    "state" TEXT COLLATE "C" NOT NULL,
    "settings" TEXT COLLATE "C" NOT NULL,
    "targets" TEXT COLLATE "C" NOT NULL,
    "perBucket" INTEGER NOT NULL,
    "seed" BIGINT NOT NULL,
    "actor" TEXT COLLATE "C" NOT NULL,
    "startedAt" TIMESTAMP(3) NOT NULL,
    "endedAt" TIMESTAMP(3),

    CONSTRAINT "Benchmark_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "BenchTurn" (
    "id" TEXT COLLATE "C" NOT NULL,
    "benchmarkId" TEXT COLLATE "C" NOT NULL,
    "position" INTEGER NOT NULL,
    "nodeId" TEXT COLLATE "C" NOT NULL,
    "nodeName" TEXT COLLATE "C" NOT NULL,
    "nodeRegion" TEXT COLLATE "C",
    "profileId" TEXT COLLATE "C" NOT NULL,
    "profileName" TEXT COLLATE "C" NOT NULL,
    "storeRegion" TEXT COLLATE "C" NOT NULL,
    "prefix" TEXT COLLATE "C" NOT NULL,
    "state" TEXT COLLATE "C" NOT NULL,
    "commandId" TEXT COLLATE "C",
    "rttMs" DOUBLE PRECISION,
    "engines" TEXT COLLATE "C" NOT NULL DEFAULT '[]',
    "fault" TEXT COLLATE "C",
    "startedAt" TIMESTAMP(3),
    "heardAt" TIMESTAMP(3),
    "endedAt" TIMESTAMP(3),
    "cleanAt" TIMESTAMP(3),

    CONSTRAINT "BenchTurn_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "BenchCase" (
    "turnId" TEXT COLLATE "C" NOT NULL,
    "engine" TEXT COLLATE "C" NOT NULL,
    "direction" TEXT COLLATE "C" NOT NULL,
    "round" INTEGER NOT NULL,
    "bytes" BIGINT NOT NULL,
    "tookMs" DOUBLE PRECISION NOT NULL,
    "loadMs" DOUBLE PRECISION,
    "bytesPerSecond" DOUBLE PRECISION,
    "peakBytes" BIGINT,
    "fault" TEXT COLLATE "C",
    "log" TEXT COLLATE "C" NOT NULL,
    "at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "BenchCase_pkey" PRIMARY KEY ("turnId","engine","direction","round")
);

-- CreateTable
CREATE TABLE "FindingToKeep" (
    "key" TEXT COLLATE "C" NOT NULL,
    "checkpointId" TEXT COLLATE "C" NOT NULL,
    "profileId" TEXT COLLATE "C" NOT NULL,
    "bucket" TEXT COLLATE "C" NOT NULL,
    "text" TEXT COLLATE "C" NOT NULL,
    "createdAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "FindingToKeep_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "Job" (
    "seq" SERIAL NOT NULL,
    "id" TEXT COLLATE "C" NOT NULL,
    "queue" TEXT COLLATE "C" NOT NULL,
    "name" TEXT COLLATE "C" NOT NULL,
    "run" TEXT COLLATE "C" NOT NULL,
    "state" TEXT COLLATE "C" NOT NULL,
    "priority" INTEGER NOT NULL,
    "rank" INTEGER NOT NULL,
    "dueAt" TIMESTAMP(3) NOT NULL,
    "ownerId" TEXT COLLATE "C" NOT NULL,
    "owner" TEXT COLLATE "C" NOT NULL,
    "idempotencyKey" TEXT COLLATE "C",
    "needGpuBytes" BIGINT NOT NULL DEFAULT 0,
    "needDiskBytes" BIGINT NOT NULL DEFAULT 0,
    "needUplink" DOUBLE PRECISION NOT NULL DEFAULT 0,
    "needLabels" TEXT COLLATE "C" NOT NULL DEFAULT '{}',
    "longestSeconds" INTEGER,
    "noProgressSeconds" INTEGER,
    "mostFailures" INTEGER NOT NULL,
    "failures" INTEGER NOT NULL DEFAULT 0,
    "setbacks" INTEGER NOT NULL DEFAULT 0,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "nodeId" TEXT COLLATE "C",
    "reason" TEXT COLLATE "C",
    "createdAt" TIMESTAMP(3) NOT NULL,
    "startedAt" TIMESTAMP(3),
    "endedAt" TIMESTAMP(3),
    "spec" TEXT COLLATE "C" NOT NULL,

    CONSTRAINT "Job_pkey" PRIMARY KEY ("seq")
);

-- CreateTable
CREATE TABLE "JobAttempt" (
    "jobId" TEXT COLLATE "C" NOT NULL,
    "attempt" INTEGER NOT NULL,
    "nodeId" TEXT COLLATE "C",
    "machine" TEXT COLLATE "C",
    "bootId" TEXT COLLATE "C" NOT NULL,
    "epoch" INTEGER,
    "startedAt" TIMESTAMP(3) NOT NULL,
    "endedAt" TIMESTAMP(3),
    "endedBy" TEXT COLLATE "C",
    "outcome" TEXT COLLATE "C",
    "reason" TEXT COLLATE "C",
    "exitCode" INTEGER,
    "signal" TEXT COLLATE "C",
    "fromStep" BIGINT,
    "toStep" BIGINT,
    "safeStep" BIGINT,
    "progressAt" TIMESTAMP(3),

    CONSTRAINT "JobAttempt_pkey" PRIMARY KEY ("jobId","attempt")
);

-- CreateTable
CREATE TABLE "JobLabel" (
    "jobId" TEXT COLLATE "C" NOT NULL,
    "name" TEXT COLLATE "C" NOT NULL,
    "value" TEXT COLLATE "C" NOT NULL,

    CONSTRAINT "JobLabel_pkey" PRIMARY KEY ("jobId","name")
);

-- CreateTable
CREATE TABLE "JobBan" (
    "jobId" TEXT COLLATE "C" NOT NULL,
    "nodeId" TEXT COLLATE "C" NOT NULL,
    "until" TIMESTAMP(3) NOT NULL,
    "reason" TEXT COLLATE "C" NOT NULL,

    CONSTRAINT "JobBan_pkey" PRIMARY KEY ("jobId","nodeId")
);

-- CreateTable
CREATE TABLE "KelpieJob" (
    "jobId" TEXT COLLATE "C" NOT NULL,
    "heartbeatSeconds" INTEGER NOT NULL,
    "webhook" TEXT COLLATE "C",
    "machine" TEXT COLLATE "C",
    "heartbeatAt" TIMESTAMP(3),
    "heartbeats" INTEGER NOT NULL DEFAULT 0,
    "storage" TEXT COLLATE "C" NOT NULL,

    CONSTRAINT "KelpieJob_pkey" PRIMARY KEY ("jobId")
);

-- CreateTable
CREATE TABLE "JobMachineBan" (
    "jobId" TEXT COLLATE "C" NOT NULL,
    "machine" TEXT COLLATE "C" NOT NULL,
    "until" TIMESTAMP(3) NOT NULL,
    "reason" TEXT COLLATE "C" NOT NULL,

    CONSTRAINT "JobMachineBan_pkey" PRIMARY KEY ("jobId","machine")
);

-- CreateTable
CREATE TABLE "JobWebhook" (
    "id" SERIAL NOT NULL,
    "jobId" TEXT COLLATE "C" NOT NULL,
    "url" TEXT COLLATE "C" NOT NULL,
    "body" TEXT COLLATE "C" NOT NULL,
    "tries" INTEGER NOT NULL DEFAULT 0,
    "nextAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "JobWebhook_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "JobQueue" (
    "name" TEXT COLLATE "C" NOT NULL,
    "pausedAt" TIMESTAMP(3),
    "pausedBy" TEXT COLLATE "C",

    CONSTRAINT "JobQueue_pkey" PRIMARY KEY ("name")
);

-- CreateIndex
CREATE UNIQUE INDEX "User_email_key" ON "User"("email");

-- CreateIndex
CREATE UNIQUE INDEX "Session_id_key" ON "Session"("id");

-- CreateIndex
CREATE INDEX "Session_userId_idx" ON "Session"("userId");

-- CreateIndex
CREATE UNIQUE INDEX "OneTimeCode_hash_key" ON "OneTimeCode"("hash");

-- CreateIndex
CREATE INDEX "OneTimeCode_userId_idx" ON "OneTimeCode"("userId");

-- CreateIndex
CREATE INDEX "OneTimeCode_createdAt_idx" ON "OneTimeCode"("createdAt");

-- CreateIndex
CREATE UNIQUE INDEX "ApiToken_hash_key" ON "ApiToken"("hash");

-- CreateIndex
CREATE INDEX "ApiToken_userId_idx" ON "ApiToken"("userId");

-- CreateIndex
CREATE UNIQUE INDEX "Profile_name_key" ON "Profile"("name");

-- CreateIndex
CREATE INDEX "SealKey_profileId_idx" ON "SealKey"("profileId");

-- CreateIndex
CREATE UNIQUE INDEX "JoinToken_hash_key" ON "JoinToken"("hash");

-- CreateIndex
CREATE INDEX "JoinToken_profileId_idx" ON "JoinToken"("profileId");

-- CreateIndex
CREATE UNIQUE INDEX "Node_name_key" ON "Node"("name");

-- CreateIndex
CREATE UNIQUE INDEX "Node_credentialHash_key" ON "Node"("credentialHash");

-- CreateIndex
CREATE UNIQUE INDEX "Node_nextHash_key" ON "Node"("nextHash");

-- CreateIndex
CREATE INDEX "Node_profileId_idx" ON "Node"("profileId");

-- CreateIndex
CREATE INDEX "Run_profileId_idx" ON "Run"("profileId");

-- CreateIndex
CREATE INDEX "RunHome_profileId_idx" ON "RunHome"("profileId");

-- CreateIndex
CREATE INDEX "CheckpointCopy_profileId_idx" ON "CheckpointCopy"("profileId");

-- CreateIndex
CREATE INDEX "CheckpointCopy_nodeId_idx" ON "CheckpointCopy"("nodeId");

-- CreateIndex
CREATE UNIQUE INDEX "CheckpointCopy_run_attempt_key" ON "CheckpointCopy"("run", "attempt");

-- CreateIndex
CREATE INDEX "Epoch_nodeId_idx" ON "Epoch"("nodeId");

-- CreateIndex
CREATE INDEX "EpochMember_nodeId_idx" ON "EpochMember"("nodeId");

-- CreateIndex
CREATE INDEX "Checkpoint_run_writerEpoch_step_idx" ON "Checkpoint"("run", "writerEpoch", "step");

-- CreateIndex
CREATE INDEX "Checkpoint_run_state_sizeBytes_idx" ON "Checkpoint"("run", "state", "sizeBytes");

-- CreateIndex
CREATE INDEX "Checkpoint_step_capturedAt_idx" ON "Checkpoint"("step", "capturedAt");

-- CreateIndex
CREATE INDEX "Checkpoint_run_state_writerEpoch_step_idx" ON "Checkpoint"("run", "state", "writerEpoch", "step");

-- CreateIndex
CREATE INDEX "Checkpoint_state_idx" ON "Checkpoint"("state");

-- CreateIndex
CREATE INDEX "Checkpoint_nodeId_idx" ON "Checkpoint"("nodeId");

-- CreateIndex
CREATE INDEX "Checkpoint_profileId_idx" ON "Checkpoint"("profileId");

-- CreateIndex
CREATE INDEX "Checkpoint_sealKeyId_idx" ON "Checkpoint"("sealKeyId");

-- CreateIndex
CREATE INDEX "Checkpoint_joinedId_idx" ON "Checkpoint"("joinedId");

-- CreateIndex
CREATE UNIQUE INDEX "Checkpoint_run_attempt_key" ON "Checkpoint"("run", "attempt");

-- CreateIndex
CREATE UNIQUE INDEX "Adoption_profileId_place_key" ON "Adoption"("profileId", "place");

-- CreateIndex
CREATE INDEX "Transfer_createdAt_id_idx" ON "Transfer"("createdAt", "id");

-- CreateIndex
CREATE INDEX "Transfer_state_createdAt_idx" ON "Transfer"("state", "createdAt");

-- CreateIndex
CREATE INDEX "Transfer_nodeId_createdAt_idx" ON "Transfer"("nodeId", "createdAt");

-- CreateIndex
CREATE INDEX "Transfer_run_createdAt_idx" ON "Transfer"("run", "createdAt");

-- CreateIndex
CREATE INDEX "Transfer_checkpointId_idx" ON "Transfer"("checkpointId");

-- CreateIndex
CREATE UNIQUE INDEX "QueuedRestore_requestId_key" ON "QueuedRestore"("requestId");

-- CreateIndex
CREATE INDEX "QueuedRestore_releasedAt_createdAt_idx" ON "QueuedRestore"("releasedAt", "createdAt");

-- CreateIndex
CREATE INDEX "QueuedRestore_batchId_idx" ON "QueuedRestore"("batchId");

-- CreateIndex
CREATE INDEX "QueuedRestore_profileId_releasedAt_idx" ON "QueuedRestore"("profileId", "releasedAt");

-- CreateIndex
CREATE UNIQUE INDEX "Command_requestId_key" ON "Command"("requestId");

-- CreateIndex
CREATE INDEX "Command_batchId_idx" ON "Command"("batchId");

-- CreateIndex
CREATE INDEX "Command_createdAt_id_idx" ON "Command"("createdAt", "id");

-- CreateIndex
CREATE INDEX "Command_nodeId_createdAt_idx" ON "Command"("nodeId", "createdAt");

-- CreateIndex
CREATE INDEX "Command_state_expiresAt_idx" ON "Command"("state", "expiresAt");

-- CreateIndex
CREATE INDEX "Command_nodeId_endedAt_idx" ON "Command"("nodeId", "endedAt");

-- CreateIndex
CREATE INDEX "Command_transferId_idx" ON "Command"("transferId");

-- CreateIndex
CREATE INDEX "Command_checkpointId_idx" ON "Command"("checkpointId");

-- CreateIndex
CREATE INDEX "Loss_at_idx" ON "Loss"("at");

-- CreateIndex
CREATE INDEX "Loss_run_at_idx" ON "Loss"("run", "at");

-- CreateIndex
CREATE INDEX "Loss_nodeId_at_idx" ON "Loss"("nodeId", "at");

-- CreateIndex
CREATE INDEX "Event_nodeId_id_idx" ON "Event"("nodeId", "id");

-- CreateIndex
CREATE INDEX "Event_run_id_idx" ON "Event"("run", "id");

-- CreateIndex
CREATE INDEX "Event_at_idx" ON "Event"("at");

-- CreateIndex
CREATE INDEX "Audit_at_idx" ON "Audit"("at");

-- CreateIndex
CREATE INDEX "Audit_actorId_id_idx" ON "Audit"("actorId", "id");

-- CreateIndex
CREATE INDEX "Audit_action_id_idx" ON "Audit"("action", "id");

-- CreateIndex
CREATE INDEX "Probe_profileId_at_idx" ON "Probe"("profileId", "at");

-- CreateIndex
CREATE INDEX "Probe_machine_profileId_at_idx" ON "Probe"("machine", "profileId", "at");

-- CreateIndex
CREATE INDEX "Probe_at_idx" ON "Probe"("at");

-- CreateIndex
CREATE INDEX "Reallocation_isGranted_at_idx" ON "Reallocation"("isGranted", "at");

-- CreateIndex
CREATE INDEX "Reallocation_machine_profileId_at_idx" ON "Reallocation"("machine", "profileId", "at");

-- CreateIndex
CREATE INDEX "Doubt_confirmedAt_idx" ON "Doubt"("confirmedAt");

-- CreateIndex
CREATE INDEX "UpkeepRun_kind_id_idx" ON "UpkeepRun"("kind", "id");

-- CreateIndex
CREATE UNIQUE INDEX "Alert_openKey_key" ON "Alert"("openKey");

-- CreateIndex
CREATE INDEX "Alert_firedAt_id_idx" ON "Alert"("firedAt", "id");

-- CreateIndex
CREATE INDEX "Alert_ruleId_firedAt_idx" ON "Alert"("ruleId", "firedAt");

-- CreateIndex
CREATE UNIQUE INDEX "AlertChannel_name_key" ON "AlertChannel"("name");

-- CreateIndex
CREATE INDEX "AlertMessage_state_nextAt_idx" ON "AlertMessage"("state", "nextAt");

-- CreateIndex
CREATE INDEX "AlertMessage_channelId_endedAt_idx" ON "AlertMessage"("channelId", "endedAt");

-- CreateIndex
CREATE INDEX "LinkRecord_at_id_idx" ON "LinkRecord"("at", "id");

-- CreateIndex
CREATE INDEX "LinkRecord_node_at_id_idx" ON "LinkRecord"("node", "at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "HistorySeries_node_profileId_nodeRegion_engine_provider_buc_key" ON "HistorySeries"("node", "profileId", "nodeRegion", "engine", "provider", "bucketRegion");

-- CreateIndex
CREATE UNIQUE INDEX "HistoryNode_nodeId_key" ON "HistoryNode"("nodeId");

-- CreateIndex
CREATE INDEX "HistoryMinute_minute_idx" ON "HistoryMinute"("minute");

-- CreateIndex
CREATE INDEX "HistoryRoll_level_stretch_idx" ON "HistoryRoll"("level", "stretch");

-- CreateIndex
CREATE INDEX "KeepRecord_run_kind_idx" ON "KeepRecord"("run", "kind");

-- CreateIndex
CREATE INDEX "KeepRecord_checkpointId_idx" ON "KeepRecord"("checkpointId");

-- CreateIndex
CREATE INDEX "KeepRecord_kind_endedById_until_idx" ON "KeepRecord"("kind", "endedById", "until");

-- CreateIndex
CREATE INDEX "BrowserUpload_userId_idx" ON "BrowserUpload"("userId");

-- CreateIndex
CREATE INDEX "BrowserUpload_startedAt_idx" ON "BrowserUpload"("startedAt");

-- CreateIndex
CREATE INDEX "BucketJob_state_plannedAt_idx" ON "BucketJob"("state", "plannedAt");

-- CreateIndex
CREATE INDEX "BucketJob_profileId_plannedAt_idx" ON "BucketJob"("profileId", "plannedAt");

-- CreateIndex
CREATE INDEX "Benchmark_startedAt_id_idx" ON "Benchmark"("startedAt", "id");

-- CreateIndex
CREATE INDEX "Benchmark_state_idx" ON "Benchmark"("state");

-- CreateIndex
CREATE INDEX "BenchTurn_state_idx" ON "BenchTurn"("state");

-- CreateIndex
CREATE INDEX "BenchTurn_cleanAt_idx" ON "BenchTurn"("cleanAt");

-- CreateIndex
CREATE UNIQUE INDEX "BenchTurn_benchmarkId_nodeId_profileId_key" ON "BenchTurn"("benchmarkId", "nodeId", "profileId");

-- CreateIndex
CREATE INDEX "FindingToKeep_checkpointId_idx" ON "FindingToKeep"("checkpointId");

-- CreateIndex
CREATE UNIQUE INDEX "Job_id_key" ON "Job"("id");

-- CreateIndex
CREATE INDEX "Job_queue_state_rank_seq_idx" ON "Job"("queue", "state", "rank", "seq");

-- CreateIndex
CREATE INDEX "Job_queue_startedAt_idx" ON "Job"("queue", "startedAt");

-- CreateIndex
CREATE INDEX "Job_run_state_idx" ON "Job"("run", "state");

-- CreateIndex
CREATE INDEX "Job_state_dueAt_idx" ON "Job"("state", "dueAt");

-- CreateIndex
CREATE INDEX "Job_state_seq_idx" ON "Job"("state", "seq");

-- CreateIndex
CREATE INDEX "Job_state_endedAt_idx" ON "Job"("state", "endedAt");

-- CreateIndex
CREATE UNIQUE INDEX "Job_ownerId_idempotencyKey_key" ON "Job"("ownerId", "idempotencyKey");

-- CreateIndex
CREATE INDEX "JobAttempt_endedAt_idx" ON "JobAttempt"("endedAt");

-- CreateIndex
CREATE INDEX "JobAttempt_nodeId_endedAt_idx" ON "JobAttempt"("nodeId", "endedAt");

-- CreateIndex
CREATE INDEX "JobLabel_name_value_idx" ON "JobLabel"("name", "value");

-- CreateIndex
CREATE INDEX "JobBan_nodeId_idx" ON "JobBan"("nodeId");

-- CreateIndex
CREATE INDEX "JobBan_until_idx" ON "JobBan"("until");

-- CreateIndex
CREATE INDEX "JobMachineBan_until_idx" ON "JobMachineBan"("until");

-- CreateIndex
CREATE INDEX "JobWebhook_jobId_idx" ON "JobWebhook"("jobId");

-- CreateIndex
CREATE INDEX "JobWebhook_nextAt_idx" ON "JobWebhook"("nextAt");

-- CreateIndex
CREATE INDEX "JobWebhook_url_nextAt_idx" ON "JobWebhook"("url", "nextAt");

-- AddForeignKey
ALTER TABLE "Session" ADD CONSTRAINT "Session_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "OneTimeCode" ADD CONSTRAINT "OneTimeCode_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ApiToken" ADD CONSTRAINT "ApiToken_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ProfileSecret" ADD CONSTRAINT "ProfileSecret_profileId_fkey" FOREIGN KEY ("profileId") REFERENCES "Profile"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "SealKey" ADD CONSTRAINT "SealKey_profileId_fkey" FOREIGN KEY ("profileId") REFERENCES "Profile"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "SealKeySecret" ADD CONSTRAINT "SealKeySecret_keyId_fkey" FOREIGN KEY ("keyId") REFERENCES "SealKey"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "JoinToken" ADD CONSTRAINT "JoinToken_profileId_fkey" FOREIGN KEY ("profileId") REFERENCES "Profile"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Node" ADD CONSTRAINT "Node_profileId_fkey" FOREIGN KEY ("profileId") REFERENCES "Profile"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Run" ADD CONSTRAINT "Run_profileId_fkey" FOREIGN KEY ("profileId") REFERENCES "Profile"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "RunHome" ADD CONSTRAINT "RunHome_run_fkey" FOREIGN KEY ("run") REFERENCES "Run"("name") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "RunHome" ADD CONSTRAINT "RunHome_profileId_fkey" FOREIGN KEY ("profileId") REFERENCES "Profile"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "CheckpointCopy" ADD CONSTRAINT "CheckpointCopy_checkpointId_fkey" FOREIGN KEY ("checkpointId") REFERENCES "Checkpoint"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "CheckpointCopy" ADD CONSTRAINT "CheckpointCopy_profileId_fkey" FOREIGN KEY ("profileId") REFERENCES "Profile"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "CheckpointCopy" ADD CONSTRAINT "CheckpointCopy_nodeId_fkey" FOREIGN KEY ("nodeId") REFERENCES "Node"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Epoch" ADD CONSTRAINT "Epoch_run_fkey" FOREIGN KEY ("run") REFERENCES "Run"("name") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Epoch" ADD CONSTRAINT "Epoch_nodeId_fkey" FOREIGN KEY ("nodeId") REFERENCES "Node"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "EpochMember" ADD CONSTRAINT "EpochMember_run_epoch_fkey" FOREIGN KEY ("run", "epoch") REFERENCES "Epoch"("run", "epoch") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "EpochMember" ADD CONSTRAINT "EpochMember_nodeId_fkey" FOREIGN KEY ("nodeId") REFERENCES "Node"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Checkpoint" ADD CONSTRAINT "Checkpoint_run_fkey" FOREIGN KEY ("run") REFERENCES "Run"("name") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Checkpoint" ADD CONSTRAINT "Checkpoint_nodeId_fkey" FOREIGN KEY ("nodeId") REFERENCES "Node"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Checkpoint" ADD CONSTRAINT "Checkpoint_profileId_fkey" FOREIGN KEY ("profileId") REFERENCES "Profile"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "CheckpointContent" ADD CONSTRAINT "CheckpointContent_checkpointId_fkey" FOREIGN KEY ("checkpointId") REFERENCES "Checkpoint"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Adoption" ADD CONSTRAINT "Adoption_checkpointId_fkey" FOREIGN KEY ("checkpointId") REFERENCES "Checkpoint"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Transfer" ADD CONSTRAINT "Transfer_nodeId_fkey" FOREIGN KEY ("nodeId") REFERENCES "Node"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "QueuedRestore" ADD CONSTRAINT "QueuedRestore_transferId_fkey" FOREIGN KEY ("transferId") REFERENCES "Transfer"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Command" ADD CONSTRAINT "Command_nodeId_fkey" FOREIGN KEY ("nodeId") REFERENCES "Node"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Alert" ADD CONSTRAINT "Alert_ruleId_fkey" FOREIGN KEY ("ruleId") REFERENCES "AlertRule"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "AlertChannelSecret" ADD CONSTRAINT "AlertChannelSecret_channelId_fkey" FOREIGN KEY ("channelId") REFERENCES "AlertChannel"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "AlertMessage" ADD CONSTRAINT "AlertMessage_channelId_fkey" FOREIGN KEY ("channelId") REFERENCES "AlertChannel"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "LinkRecord" ADD CONSTRAINT "LinkRecord_seriesId_fkey" FOREIGN KEY ("seriesId") REFERENCES "HistorySeries"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "BrowserUpload" ADD CONSTRAINT "BrowserUpload_profileId_fkey" FOREIGN KEY ("profileId") REFERENCES "Profile"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "BucketJobChunk" ADD CONSTRAINT "BucketJobChunk_jobId_fkey" FOREIGN KEY ("jobId") REFERENCES "BucketJob"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ProfileBenchKey" ADD CONSTRAINT "ProfileBenchKey_profileId_fkey" FOREIGN KEY ("profileId") REFERENCES "Profile"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "BenchTurn" ADD CONSTRAINT "BenchTurn_benchmarkId_fkey" FOREIGN KEY ("benchmarkId") REFERENCES "Benchmark"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "BenchCase" ADD CONSTRAINT "BenchCase_turnId_fkey" FOREIGN KEY ("turnId") REFERENCES "BenchTurn"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "FindingToKeep" ADD CONSTRAINT "FindingToKeep_checkpointId_fkey" FOREIGN KEY ("checkpointId") REFERENCES "Checkpoint"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "JobAttempt" ADD CONSTRAINT "JobAttempt_jobId_fkey" FOREIGN KEY ("jobId") REFERENCES "Job"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "JobAttempt" ADD CONSTRAINT "JobAttempt_nodeId_fkey" FOREIGN KEY ("nodeId") REFERENCES "Node"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "JobLabel" ADD CONSTRAINT "JobLabel_jobId_fkey" FOREIGN KEY ("jobId") REFERENCES "Job"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "JobBan" ADD CONSTRAINT "JobBan_jobId_fkey" FOREIGN KEY ("jobId") REFERENCES "Job"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "JobBan" ADD CONSTRAINT "JobBan_nodeId_fkey" FOREIGN KEY ("nodeId") REFERENCES "Node"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "KelpieJob" ADD CONSTRAINT "KelpieJob_jobId_fkey" FOREIGN KEY ("jobId") REFERENCES "Job"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "JobMachineBan" ADD CONSTRAINT "JobMachineBan_jobId_fkey" FOREIGN KEY ("jobId") REFERENCES "Job"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "JobWebhook" ADD CONSTRAINT "JobWebhook_jobId_fkey" FOREIGN KEY ("jobId") REFERENCES "Job"("id") ON DELETE CASCADE ON UPDATE CASCADE;
