-- Checkpoints that other tools left in a bucket, what an hour of a node costs, and sums of a run without reading its rows.
-- CreateTable
CREATE TABLE "Adoption" (
    "checkpointId" TEXT NOT NULL PRIMARY KEY,
    "profileId" TEXT NOT NULL,
    "place" TEXT NOT NULL,
    "verdict" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "adoptedAt" DATETIME NOT NULL,
    "adoptedBy" TEXT NOT NULL,
    "sums" TEXT,
    "summedAt" DATETIME,
    "summedBy" TEXT,
    CONSTRAINT "Adoption_checkpointId_fkey" FOREIGN KEY ("checkpointId") REFERENCES "Checkpoint" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "NodePrice" (
    "scope" TEXT NOT NULL PRIMARY KEY,
    "perHour" REAL NOT NULL,
    "currency" TEXT NOT NULL,
    "updatedAt" DATETIME NOT NULL
);

-- CreateIndex
CREATE UNIQUE INDEX "Adoption_profileId_place_key" ON "Adoption"("profileId", "place");

-- CreateIndex
CREATE INDEX "Checkpoint_run_state_sizeBytes_idx" ON "Checkpoint"("run", "state", "sizeBytes");
