-- CreateTable
CREATE TABLE "User" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "email" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "passwordHash" TEXT NOT NULL,
    "createdAt" DATETIME NOT NULL
);

-- CreateTable
CREATE TABLE "Session" (
    "hash" TEXT NOT NULL PRIMARY KEY,
    "userId" TEXT NOT NULL,
    "createdAt" DATETIME NOT NULL,
    "seenAt" DATETIME NOT NULL,
    "expiresAt" DATETIME NOT NULL,
    CONSTRAINT "Session_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "Profile" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "version" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "bucket" TEXT NOT NULL,
    "region" TEXT NOT NULL,
    "prefix" TEXT NOT NULL,
    "endpoint" TEXT NOT NULL,
    "workerEndpoint" TEXT,
    "browserEndpoint" TEXT,
    "addressing" TEXT NOT NULL,
    "accessKeyHint" TEXT NOT NULL,
    "createdAt" DATETIME NOT NULL,
    "updatedAt" DATETIME NOT NULL,
    "lastTest" TEXT
);

-- CreateTable
CREATE TABLE "ProfileSecret" (
    "profileId" TEXT NOT NULL PRIMARY KEY,
    "sealed" TEXT NOT NULL,
    "updatedAt" DATETIME NOT NULL,
    CONSTRAINT "ProfileSecret_profileId_fkey" FOREIGN KEY ("profileId") REFERENCES "Profile" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "Canary" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "sealed" TEXT NOT NULL,
    "createdAt" DATETIME NOT NULL
);

-- CreateTable
CREATE TABLE "JoinToken" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "hash" TEXT NOT NULL,
    "hint" TEXT NOT NULL,
    "label" TEXT NOT NULL,
    "profileId" TEXT NOT NULL,
    "uses" INTEGER NOT NULL,
    "maxUses" INTEGER NOT NULL,
    "createdAt" DATETIME NOT NULL,
    "expiresAt" DATETIME NOT NULL,
    "revokedAt" DATETIME,
    CONSTRAINT "JoinToken_profileId_fkey" FOREIGN KEY ("profileId") REFERENCES "Profile" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "Node" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "name" TEXT NOT NULL,
    "credentialHash" TEXT NOT NULL,
    "profileId" TEXT NOT NULL,
    "facts" TEXT NOT NULL,
    "enrolledAt" DATETIME NOT NULL,
    "lastSeenAt" DATETIME,
    "leftAt" DATETIME,
    "revokedAt" DATETIME,
    "acceptedSeq" INTEGER NOT NULL,
    "lastReport" TEXT,
    CONSTRAINT "Node_profileId_fkey" FOREIGN KEY ("profileId") REFERENCES "Profile" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "Run" (
    "name" TEXT NOT NULL PRIMARY KEY,
    "profileId" TEXT NOT NULL,
    "createdAt" DATETIME NOT NULL,
    CONSTRAINT "Run_profileId_fkey" FOREIGN KEY ("profileId") REFERENCES "Profile" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "Epoch" (
    "run" TEXT NOT NULL,
    "epoch" INTEGER NOT NULL,
    "parentEpoch" INTEGER,
    "parentStep" BIGINT,
    "nodeId" TEXT NOT NULL,
    "claimedAt" DATETIME NOT NULL,

    PRIMARY KEY ("run", "epoch"),
    CONSTRAINT "Epoch_run_fkey" FOREIGN KEY ("run") REFERENCES "Run" ("name") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "Epoch_nodeId_fkey" FOREIGN KEY ("nodeId") REFERENCES "Node" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "Checkpoint" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "run" TEXT NOT NULL,
    "step" BIGINT NOT NULL,
    "writerEpoch" INTEGER NOT NULL,
    "attempt" TEXT NOT NULL,
    "nodeId" TEXT NOT NULL,
    "profileId" TEXT NOT NULL,
    "bucket" TEXT NOT NULL,
    "prefix" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "framework" TEXT,
    "metrics" TEXT NOT NULL,
    "fileCount" INTEGER NOT NULL,
    "sizeBytes" BIGINT NOT NULL,
    "capturedAt" DATETIME NOT NULL,
    "announcedAt" DATETIME NOT NULL,
    "committedAt" DATETIME,
    "manifestKey" TEXT,
    "manifestSha256" TEXT,
    CONSTRAINT "Checkpoint_run_fkey" FOREIGN KEY ("run") REFERENCES "Run" ("name") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "Checkpoint_nodeId_fkey" FOREIGN KEY ("nodeId") REFERENCES "Node" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "Checkpoint_profileId_fkey" FOREIGN KEY ("profileId") REFERENCES "Profile" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "CheckpointContent" (
    "checkpointId" TEXT NOT NULL PRIMARY KEY,
    "files" TEXT NOT NULL,
    "manifest" TEXT,
    CONSTRAINT "CheckpointContent_checkpointId_fkey" FOREIGN KEY ("checkpointId") REFERENCES "Checkpoint" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "Transfer" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "nodeId" TEXT NOT NULL,
    "direction" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "checkpointId" TEXT NOT NULL,
    "run" TEXT NOT NULL,
    "step" BIGINT NOT NULL,
    "bucket" TEXT NOT NULL,
    "place" TEXT NOT NULL,
    "bytesDone" BIGINT NOT NULL,
    "bytesTotal" BIGINT NOT NULL,
    "sentBytes" BIGINT NOT NULL,
    "filesDone" INTEGER NOT NULL,
    "filesTotal" INTEGER NOT NULL,
    "connections" INTEGER NOT NULL,
    "retries" INTEGER NOT NULL,
    "fault" TEXT,
    "startedBy" TEXT NOT NULL,
    "createdAt" DATETIME NOT NULL,
    "startedAt" DATETIME,
    "endedAt" DATETIME,
    CONSTRAINT "Transfer_nodeId_fkey" FOREIGN KEY ("nodeId") REFERENCES "Node" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "Command" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "requestId" TEXT NOT NULL,
    "nodeId" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "transferId" TEXT NOT NULL,
    "checkpointId" TEXT,
    "body" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "fault" TEXT,
    "createdAt" DATETIME NOT NULL,
    "acceptedAt" DATETIME,
    "endedAt" DATETIME,
    CONSTRAINT "Command_nodeId_fkey" FOREIGN KEY ("nodeId") REFERENCES "Node" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "Event" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "at" DATETIME NOT NULL,
    "kind" TEXT NOT NULL,
    "work" TEXT NOT NULL,
    "nodeId" TEXT,
    "nodeName" TEXT,
    "run" TEXT,
    "step" BIGINT,
    "text" TEXT NOT NULL,
    "fault" TEXT
);

-- CreateTable
CREATE TABLE "Sample" (
    "nodeId" TEXT NOT NULL,
    "at" DATETIME NOT NULL,
    "upBytesPerSecond" REAL NOT NULL,
    "downBytesPerSecond" REAL NOT NULL,
    "atRiskBytes" BIGINT NOT NULL,
    "lossMs" BIGINT NOT NULL,
    "rttMs" REAL,

    PRIMARY KEY ("nodeId", "at")
);

-- CreateTable
CREATE TABLE "Audit" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "at" DATETIME NOT NULL,
    "actor" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "subject" TEXT NOT NULL
);

-- CreateIndex
CREATE UNIQUE INDEX "User_email_key" ON "User"("email");

-- CreateIndex
CREATE INDEX "Session_userId_idx" ON "Session"("userId");

-- CreateIndex
CREATE UNIQUE INDEX "Profile_name_key" ON "Profile"("name");

-- CreateIndex
CREATE UNIQUE INDEX "JoinToken_hash_key" ON "JoinToken"("hash");

-- CreateIndex
CREATE INDEX "JoinToken_profileId_idx" ON "JoinToken"("profileId");

-- CreateIndex
CREATE UNIQUE INDEX "Node_name_key" ON "Node"("name");

-- CreateIndex
CREATE UNIQUE INDEX "Node_credentialHash_key" ON "Node"("credentialHash");

-- CreateIndex
CREATE INDEX "Node_profileId_idx" ON "Node"("profileId");

-- CreateIndex
CREATE INDEX "Run_profileId_idx" ON "Run"("profileId");

-- CreateIndex
CREATE INDEX "Epoch_nodeId_idx" ON "Epoch"("nodeId");

-- CreateIndex
CREATE INDEX "Checkpoint_run_writerEpoch_step_idx" ON "Checkpoint"("run", "writerEpoch", "step");

-- CreateIndex
CREATE INDEX "Checkpoint_state_idx" ON "Checkpoint"("state");

-- CreateIndex
CREATE INDEX "Checkpoint_nodeId_idx" ON "Checkpoint"("nodeId");

-- CreateIndex
CREATE INDEX "Checkpoint_profileId_idx" ON "Checkpoint"("profileId");

-- CreateIndex
CREATE UNIQUE INDEX "Checkpoint_run_attempt_key" ON "Checkpoint"("run", "attempt");

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
CREATE UNIQUE INDEX "Command_requestId_key" ON "Command"("requestId");

-- CreateIndex
CREATE INDEX "Command_nodeId_endedAt_idx" ON "Command"("nodeId", "endedAt");

-- CreateIndex
CREATE INDEX "Command_transferId_idx" ON "Command"("transferId");

-- CreateIndex
CREATE INDEX "Command_checkpointId_idx" ON "Command"("checkpointId");

-- CreateIndex
CREATE INDEX "Event_nodeId_id_idx" ON "Event"("nodeId", "id");

-- CreateIndex
CREATE INDEX "Event_run_id_idx" ON "Event"("run", "id");

-- CreateIndex
CREATE INDEX "Event_at_idx" ON "Event"("at");

-- CreateIndex
CREATE INDEX "Sample_at_idx" ON "Sample"("at");

-- CreateIndex
CREATE INDEX "Audit_at_idx" ON "Audit"("at");
