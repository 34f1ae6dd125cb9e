-- What is known of a history that was lost in part, and how backups and looks for leftovers ended.
-- AlterTable
ALTER TABLE "Run" ADD COLUMN "highestSeen" INTEGER DEFAULT 0;

-- CreateTable
CREATE TABLE "Doubt" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "kind" TEXT NOT NULL,
    "at" DATETIME NOT NULL,
    "asOf" DATETIME,
    "listedAt" DATETIME,
    "found" TEXT,
    "confirmedAt" DATETIME,
    "confirmedBy" TEXT
);

-- CreateTable
CREATE TABLE "UpkeepRun" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "kind" TEXT NOT NULL,
    "profileId" TEXT,
    "startedAt" DATETIME NOT NULL,
    "endedAt" DATETIME NOT NULL,
    "fault" TEXT,
    "result" TEXT
);

-- CreateIndex
CREATE INDEX "Doubt_confirmedAt_idx" ON "Doubt"("confirmedAt");

-- CreateIndex
CREATE INDEX "UpkeepRun_kind_id_idx" ON "UpkeepRun"("kind", "id");
