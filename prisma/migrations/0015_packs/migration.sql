-- From which size on files of checkpoints are packed, and whether packs are compressed.
ALTER TABLE "Profile" ADD COLUMN "packBelowBytes" BIGINT NOT NULL DEFAULT 262144;
ALTER TABLE "Profile" ADD COLUMN "packZstd" BOOLEAN NOT NULL DEFAULT false;
