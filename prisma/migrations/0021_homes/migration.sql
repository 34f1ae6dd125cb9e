-- Runs may have several buckets, and checkpoints copies in them.
-- AlterTable
ALTER TABLE "Run" ADD COLUMN "copies" INTEGER;

-- CreateTable
CREATE TABLE "RunHome" (
    "run" TEXT NOT NULL,
    "profileId" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "addedAt" DATETIME NOT NULL,
    "addedBy" TEXT NOT NULL,

    PRIMARY KEY ("run", "profileId"),
    CONSTRAINT "RunHome_run_fkey" FOREIGN KEY ("run") REFERENCES "Run" ("name") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "RunHome_profileId_fkey" FOREIGN KEY ("profileId") REFERENCES "Profile" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "CheckpointCopy" (
    "checkpointId" TEXT NOT NULL,
    "profileId" TEXT NOT NULL,
    "run" TEXT NOT NULL,
    "bucket" TEXT NOT NULL,
    "prefix" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "attempt" TEXT NOT NULL,
    "nodeId" TEXT NOT NULL,
    "startedAt" DATETIME NOT NULL,
    "committedAt" DATETIME,
    "manifestKey" TEXT,
    "manifestSha256" TEXT,
    "manifest" TEXT,
    "verifiedAt" DATETIME,
    "damagedAt" DATETIME,
    "damage" TEXT,

    PRIMARY KEY ("checkpointId", "profileId"),
    CONSTRAINT "CheckpointCopy_checkpointId_fkey" FOREIGN KEY ("checkpointId") REFERENCES "Checkpoint" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "CheckpointCopy_profileId_fkey" FOREIGN KEY ("profileId") REFERENCES "Profile" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "CheckpointCopy_nodeId_fkey" FOREIGN KEY ("nodeId") REFERENCES "Node" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "OwedWords" (
    "checkpointId" TEXT NOT NULL,
    "profileId" TEXT NOT NULL,
    "since" DATETIME NOT NULL,

    PRIMARY KEY ("checkpointId", "profileId")
);

-- CreateIndex
CREATE INDEX "RunHome_profileId_idx" ON "RunHome"("profileId");

-- CreateIndex
CREATE INDEX "CheckpointCopy_profileId_idx" ON "CheckpointCopy"("profileId");

-- CreateIndex
CREATE INDEX "CheckpointCopy_nodeId_idx" ON "CheckpointCopy"("nodeId");

-- CreateIndex
CREATE UNIQUE INDEX "CheckpointCopy_run_attempt_key" ON "CheckpointCopy"("run", "attempt");
