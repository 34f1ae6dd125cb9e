-- Commands to whole nodes, and alerts: rules, what fires, channels and their outbox.
-- AlterTable
ALTER TABLE "Command" ADD COLUMN "actor" TEXT;
ALTER TABLE "Command" ADD COLUMN "batchId" TEXT;
ALTER TABLE "Command" ADD COLUMN "detail" TEXT;
ALTER TABLE "Command" ADD COLUMN "expiresAt" DATETIME;
ALTER TABLE "Command" ADD COLUMN "run" TEXT;

-- CreateTable
CREATE TABLE "AlertRule" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "name" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "params" TEXT NOT NULL,
    "scope" TEXT NOT NULL,
    "severity" TEXT NOT NULL,
    "channels" TEXT NOT NULL,
    "quiet" TEXT,
    "isEnabled" BOOLEAN NOT NULL,
    "mutedUntil" DATETIME,
    "toldAt" DATETIME,
    "version" INTEGER NOT NULL,
    "createdAt" DATETIME NOT NULL,
    "updatedAt" DATETIME NOT NULL,
    "removedAt" DATETIME
);

-- CreateTable
CREATE TABLE "Alert" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "ruleId" TEXT NOT NULL,
    "openKey" TEXT,
    "severity" TEXT NOT NULL,
    "nodeId" TEXT,
    "nodeName" TEXT,
    "run" TEXT,
    "text" TEXT NOT NULL,
    "since" DATETIME NOT NULL,
    "firedAt" DATETIME NOT NULL,
    "resolvedAt" DATETIME,
    "acknowledgedAt" DATETIME,
    "acknowledgedBy" TEXT,
    "toldAt" DATETIME,
    "toldEndAt" DATETIME,
    CONSTRAINT "Alert_ruleId_fkey" FOREIGN KEY ("ruleId") REFERENCES "AlertRule" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "AlertChannel" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "name" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "hint" TEXT NOT NULL,
    "perMinute" INTEGER NOT NULL,
    "isEnabled" BOOLEAN NOT NULL,
    "version" INTEGER NOT NULL,
    "createdAt" DATETIME NOT NULL,
    "updatedAt" DATETIME NOT NULL,
    "lastSentAt" DATETIME,
    "lastFault" TEXT
);

-- CreateTable
CREATE TABLE "AlertChannelSecret" (
    "channelId" TEXT NOT NULL PRIMARY KEY,
    "sealed" TEXT NOT NULL,
    "keyVersion" INTEGER NOT NULL,
    CONSTRAINT "AlertChannelSecret_channelId_fkey" FOREIGN KEY ("channelId") REFERENCES "AlertChannel" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "AlertMessage" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "channelId" TEXT NOT NULL,
    "body" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "tries" INTEGER NOT NULL,
    "nextAt" DATETIME NOT NULL,
    "createdAt" DATETIME NOT NULL,
    "endedAt" DATETIME,
    "fault" TEXT,
    CONSTRAINT "AlertMessage_channelId_fkey" FOREIGN KEY ("channelId") REFERENCES "AlertChannel" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

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
CREATE INDEX "Command_batchId_idx" ON "Command"("batchId");

-- CreateIndex
CREATE INDEX "Command_createdAt_id_idx" ON "Command"("createdAt", "id");

-- CreateIndex
CREATE INDEX "Command_nodeId_createdAt_idx" ON "Command"("nodeId", "createdAt");

-- CreateIndex
CREATE INDEX "Command_state_expiresAt_idx" ON "Command"("state", "expiresAt");
