//! Files: every operation, against a model, with futures that are dropped.

use crate::on_both_backends;
use brunt_runtime::fs::{self, AlignedBuf, Buffer, File, OpenOptions};
use brunt_runtime::{JoinSet, os_error, spawn};
use brunt_testkit::{LIMIT, Random};
use futures_lite::future::poll_once;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::SystemTime;
use tempfile::{TempDir, tempdir};

on_both_backends!(
    whole_files_are_written_read_renamed_and_removed,
    a_file_is_what_its_writes_have_made_of_it,
    errors_have_the_kinds_of_the_standard_library,
    a_dropped_operation_ends_and_spoils_nothing,
    a_dropped_open_leaves_no_descriptor,
    a_pipe_is_read_as_a_file,
    fifos_are_opened_without_their_other_ends,
    files_are_opened_as_asked,
    options_mean_what_they_mean_in_the_standard_library,
    an_offset_beyond_every_file_is_an_error,
    errors_name_the_file,
    errors_of_an_open_file_say_what_was_attempted,
    many_operations_are_in_flight,
    direct_reads_need_aligned_buffers,
);

fn folder() -> (TempDir, impl Fn(&str) -> PathBuf) {
    let folder = tempdir().unwrap();
    let path = folder.path().to_owned();
    (folder, move |name: &str| path.join(name))
}

async fn whole_files_are_written_read_renamed_and_removed() {
    let (folder, at) = folder();
    let bytes: Vec<u8> = (0..3_000_000u32).map(|n| (n ^ (n >> 8)) as u8).collect();
    let before = SystemTime::now();
    fs::write(at("one"), bytes.clone()).await.unwrap();
    assert!(fs::read(at("one")).await.unwrap() == bytes);
    let status = fs::metadata(at("one")).await.unwrap();
    assert_eq!((status.len(), status.is_file(), status.is_dir()), (3_000_000, true, false));
    let aside = before.duration_since(status.modified()).unwrap_or_else(|ahead| ahead.duration());
    assert!(aside.as_secs() < 60, "{status:?}");
    fs::rename(at("one"), at("two")).await.unwrap();
    assert_eq!(fs::metadata(at("one")).await.unwrap_err().kind(), ErrorKind::NotFound);
    fs::write(at("two"), "shorter").await.unwrap();
    assert_eq!(std::fs::read(at("two")).unwrap(), b"shorter");
    fs::remove_file(at("two")).await.unwrap();
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    assert!(fs::metadata(folder.path()).await.unwrap().is_dir());
    // Of no length that is known before.
    assert!(fs::read("/proc/self/status").await.unwrap().starts_with(b"Name:"));
}

async fn a_file_is_what_its_writes_have_made_of_it() {
    let (_folder, at) = folder();
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(at("file")).await.unwrap();
    let (mut model, mut random) = (Vec::new(), Random::new(7));
    for round in 0..300 {
        let (offset, len) = (random.below(5_000) as usize, random.below(3_000) as usize);
        match random.below(10) {
            0 => {
                file.set_len(offset as u64).await.unwrap();
                model.resize(offset, 0);
            }
            1 => file.sync_data().await.unwrap(),
            2 => file.sync_all().await.unwrap(),
            3..6 => {
                let written = file.write_all_at(vec![round as u8; len], offset as u64).await.unwrap();
                assert_eq!(written, vec![round as u8; len]);
                if len > 0 {
                    model.resize(model.len().max(offset + len), 0);
                    model[offset..offset + len].fill(round as u8);
                }
            }
            _ => {
                let (read, buffer) = file.read_at(vec![9; len], offset as u64).await.unwrap();
                let there: &[u8] = model.get(offset..).unwrap_or_default();
                assert_eq!(&buffer[..read], &there[..there.len().min(len)]);
                let exact = file.read_exact_at(vec![9; len], offset as u64).await;
                match exact {
                    Ok(buffer) => assert_eq!(buffer, &there[..len]),
                    Err(error) => assert!(error.kind() == ErrorKind::UnexpectedEof && there.len() < len),
                }
            }
        }
        assert_eq!(file.metadata().await.unwrap().len(), model.len() as u64);
    }
    assert_eq!(std::fs::read(at("file")).unwrap(), model);
}

async fn errors_have_the_kinds_of_the_standard_library() {
    let (folder, at) = folder();
    assert_eq!(File::open(at("none")).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(File::open("a\0b").await.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(OpenOptions::new().open(at("none")).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(File::create(folder.path()).await.unwrap_err().kind(), ErrorKind::IsADirectory);
    fs::write(at("file"), "x").await.unwrap();
    let new = OpenOptions::new().write(true).create_new(true);
    assert_eq!(new.open(at("file")).await.unwrap_err().kind(), ErrorKind::AlreadyExists);
    let file = File::open(at("file")).await.unwrap();
    assert_eq!(os_error(&file.write_at(b"x".to_vec(), 0).await.unwrap_err()), Some(libc::EBADF));
    assert_eq!(fs::remove_file(at("none")).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(fs::rename(at("none"), at("file")).await.unwrap_err().kind(), ErrorKind::NotFound);
}

/// A pipe is read as a file: the read ends when something is written, or never.
async fn a_dropped_operation_ends_and_spoils_nothing() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let file = File::from_std(std::os::fd::OwnedFd::from(reader).into());
    for size in [1, 100, 100_000] {
        let mut read = Box::pin(file.read_at(vec![0; size], 0));
        assert!(poll_once(&mut read).await.is_none());
        drop(read);
    }
    drop(file);
    // Those on the pool end with it, those on the ring were cancelled.
    std::io::Write::write_all(&mut writer, &[1; 3]).ok();
    drop(writer);
    let (_folder, at) = folder();
    fs::write(at("file"), vec![7; 1 << 20]).await.unwrap();
    let file = File::open(at("file")).await.unwrap();
    for _ in 0..200 {
        drop(poll_once(Box::pin(file.read_at(vec![0; 1 << 20], 0))).await);
    }
    assert!(file.read_exact_at(vec![0; 1 << 20], 0).await.unwrap() == [7; 1 << 20]);
}

async fn a_dropped_open_leaves_no_descriptor() {
    let (_folder, at) = folder();
    let path = at("only here");
    std::fs::write(&path, "x").unwrap();
    let open = || {
        let links = std::fs::read_dir("/proc/self/fd").unwrap().flatten().map(|entry| std::fs::read_link(entry.path()));
        links.filter(|link| link.as_ref().is_ok_and(|link| *link == path)).count()
    };
    for turns in [0, 1, 2] {
        for _ in 0..64 {
            let mut opening = Box::pin(File::open(&path));
            let opened = poll_once(&mut opening).await;
            for _ in 0..turns {
                brunt_runtime::yield_now().await;
            }
            drop((opening, opened));
        }
    }
    // Those that the kernel or the pool has begun end by themselves.
    let begun = std::time::Instant::now();
    while open() > 0 {
        assert!(begun.elapsed() < LIMIT, "{} descriptors are left", open());
        brunt_runtime::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

async fn a_pipe_is_read_as_a_file() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let file = File::from_std(std::fs::File::from(std::os::fd::OwnedFd::from(reader)));
    std::io::Write::write_all(&mut writer, b"piped").unwrap();
    let (len, bytes) = file.read_at(vec![0; 8], 0).await.unwrap();
    assert_eq!(&bytes[..len], b"piped");
    drop(writer);
    assert_eq!(file.read_at(vec![0; 8], 5).await.unwrap().0, 0);
}

/// More than there are threads for blocking work.
async fn fifos_are_opened_without_their_other_ends() {
    let (_folder, at) = folder();
    let path = at("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
    let error = OpenOptions::new().write(true).open(&path).await.unwrap_err();
    assert_eq!(os_error(&error), Some(libc::ENXIO), "{error}");
    let mut opens = JoinSet::new();
    for _ in 0..100 {
        let path = path.clone();
        opens.spawn(async move { File::open(path).await });
    }
    while let Some(opened) = opens.join_next().await {
        let flags = rustix::fs::fcntl_getfl(opened.unwrap().unwrap().as_fd()).unwrap();
        assert!(!flags.contains(rustix::fs::OFlags::NONBLOCK));
    }
    let writer = OpenOptions::new().read(true).write(true).open(&path).await.unwrap();
    writer.write_all_at(b"written".to_vec(), 0).await.unwrap();
    let (len, bytes) = writer.read_at(vec![0; 9], 0).await.unwrap();
    assert_eq!(&bytes[..len], b"written");
}

async fn files_are_opened_as_asked() {
    let (_folder, at) = folder();
    let log = OpenOptions::new().append(true).create(true).mode(0o600).open(at("log")).await.unwrap();
    for line in ["one\n", "two\n"] {
        log.write_all_at(line.as_bytes().to_vec(), 0).await.unwrap();
    }
    assert_eq!(std::fs::read_to_string(at("log")).unwrap(), "one\ntwo\n");
    assert_eq!(log.metadata().await.unwrap().mode(), 0o600);
    let clone = log.clone();
    let std = log.into_std().unwrap();
    assert_eq!(std.metadata().unwrap().len(), 8);
    assert_eq!(clone.metadata().await.unwrap().len(), 8);
    assert!(rustix::io::fcntl_getfd(clone.as_fd()).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
    File::create(at("log")).await.unwrap();
    assert_eq!(clone.metadata().await.unwrap().len(), 0);
}

async fn many_operations_are_in_flight() {
    let (_folder, at) = folder();
    let file = OpenOptions::new().read(true).write(true).create(true).open(at("file")).await.unwrap();
    let mut writes = JoinSet::new();
    for part in 0..500u64 {
        let file = file.clone();
        writes.spawn(async move { file.write_all_at(vec![part as u8; 1000], part * 1000).await.map(drop) });
    }
    while let Some(written) = writes.join_next().await {
        written.unwrap().unwrap();
    }
    let reads: Vec<_> = (0..500u64)
        .map(|part| {
            let file = file.clone();
            spawn(async move { file.read_exact_at(vec![0; 1000], part * 1000).await.unwrap() == [part as u8; 1000] })
        })
        .collect();
    for read in reads {
        assert!(read.await.unwrap());
    }
}

async fn direct_reads_need_aligned_buffers() {
    let (_folder, at) = folder();
    fs::write(at("file"), vec![5; 8192]).await.unwrap();
    let direct = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT);
    let file = match direct.open(at("file")).await {
        Err(error) if error.kind() == ErrorKind::InvalidInput => return,
        file => file.unwrap(),
    };
    let (len, buffer) = file.read_at(AlignedBuf::new(8192, 4096), 0).await.unwrap();
    assert!(len == 8192 && buffer.bytes() == [5; 8192]);
}

/// Every combination, of a file that exists and of one that does not: the same error or the same file afterwards.
async fn options_mean_what_they_mean_in_the_standard_library() {
    for case in 0..128u32 {
        let on = |bit: u32| case >> bit & 1 == 1;
        let (_folder, at) = folder();
        let mut ends = Vec::new();
        for name in ["ours", "theirs"] {
            if on(6) {
                std::fs::write(at(name), "before").unwrap();
            }
            let (read, write, append) = (on(0), on(1), on(2));
            let (truncate, create, create_new) = (on(3), on(4), on(5));
            let opened = if name == "ours" {
                let options = OpenOptions::new().read(read).write(write).append(append);
                let options = options.truncate(truncate).create(create).create_new(create_new);
                options.open(at(name)).await.map(drop).map_err(|error| error.kind())
            } else {
                let mut options = std::fs::OpenOptions::new();
                options.read(read).write(write).append(append).truncate(truncate).create(create).create_new(create_new);
                options.open(at(name)).map(drop).map_err(|error| error.kind())
            };
            ends.push((opened, std::fs::read(at(name)).ok()));
        }
        assert_eq!(ends[0], ends[1], "{case:#b}");
    }
}

async fn an_offset_beyond_every_file_is_an_error() {
    let (_folder, at) = folder();
    fs::write(at("file"), "0123456789").await.unwrap();
    let file = OpenOptions::new().read(true).write(true).open(at("file")).await.unwrap();
    for offset in [u64::MAX, u64::MAX - 1, 1 << 63] {
        let kind = |error: std::io::Error| error.kind();
        assert_eq!(file.read_at(vec![0; 4], offset).await.map(|_| ()).map_err(kind), Err(ErrorKind::InvalidInput));
        assert_eq!(
            file.read_exact_at(vec![0; 40], offset).await.map(|_| ()).map_err(kind),
            Err(ErrorKind::InvalidInput)
        );
        assert_eq!(
            file.write_all_at(b"zz".to_vec(), offset).await.map(|_| ()).map_err(kind),
            Err(ErrorKind::InvalidInput)
        );
    }
    // The largest one leaves no room for a byte.
    assert!(file.read_at(vec![0; 4], i64::MAX as u64).await.is_err());
    assert!(file.write_all_at(b"zz".to_vec(), i64::MAX as u64).await.is_err());
    assert_eq!(fs::read(at("file")).await.unwrap(), b"0123456789");
}

async fn errors_name_the_file() {
    let (folder, at) = folder();
    let missing = at("missing");
    let errors = [
        File::open(&missing).await.map(drop),
        fs::read(&missing).await.map(drop),
        fs::metadata(&missing).await.map(drop),
        fs::rename(&missing, at("other")).await,
        fs::remove_file(&missing).await,
        fs::write(missing.join("below"), "").await,
    ];
    for error in errors {
        let (kind, text) = error.map_err(|error| (error.kind(), error.to_string())).unwrap_err();
        assert!(kind == ErrorKind::NotFound && text.contains(missing.to_str().unwrap()), "{text}");
    }
    let directory = fs::read(folder.path()).await.unwrap_err().to_string();
    assert_eq!(directory, format!("cannot read '{}': Is a directory (os error 21)", folder.path().display()));
    let zero = "a\0b";
    let errors = [
        File::open(zero).await.map(drop),
        fs::read(zero).await.map(drop),
        fs::metadata(zero).await.map(drop),
        fs::rename(at("one"), zero).await,
        fs::rename(zero, at("one")).await,
        fs::remove_file(zero).await,
        fs::write(zero, "").await,
    ];
    for error in errors {
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(error.to_string(), r"'a\0b' cannot name a file: it contains a zero byte");
    }
}

async fn errors_of_an_open_file_say_what_was_attempted() {
    let (_folder, at) = folder();
    fs::write(at("file"), "0123456789").await.unwrap();
    let (source, sink) = (File::open(at("file")).await.unwrap(), OpenOptions::new().append(true));
    let sink = sink.open(at("file")).await.unwrap();
    let beyond = "the largest offset in a file is 9223372036854775807";
    let (closed, none) = ((Some(libc::EBADF), "Bad file descriptor (os error 9)"), None);
    let errors = [
        (source.write_at(vec![1], 5).await.map(drop), "write to the file at offset 5", closed),
        (source.write_all_at(vec![1], 5).await.map(drop), "write to the file at offset 5", closed),
        (sink.read_at(vec![1], 5).await.map(drop), "read the file at offset 5", closed),
        (sink.read_exact_at(vec![1], 5).await.map(drop), "read the file at offset 5", closed),
        (
            source.read_exact_at(vec![0; 4], 8).await.map(drop),
            "read the file at offset 10",
            (none, "unexpected end of file"),
        ),
        (
            source.read_at(vec![1], u64::MAX).await.map(drop),
            "read the file at offset 18446744073709551615",
            (none, beyond),
        ),
        (
            source.read_exact_at(vec![1], 1 << 63).await.map(drop),
            "read the file at offset 9223372036854775808",
            (none, beyond),
        ),
        (
            sink.write_at(vec![1], 1 << 63).await.map(drop),
            "write to the file at offset 9223372036854775808",
            (none, beyond),
        ),
        (
            sink.set_len(u64::MAX).await,
            "set the length of the file to 18446744073709551615",
            (Some(libc::EINVAL), "Invalid argument (os error 22)"),
        ),
        (
            source.set_len(3).await,
            "set the length of the file to 3",
            (Some(libc::EINVAL), "Invalid argument (os error 22)"),
        ),
    ];
    for (error, attempted, (errno, why)) in errors {
        let error = error.unwrap_err();
        assert_eq!((error.to_string(), os_error(&error)), (format!("cannot {attempted}: {why}"), errno));
    }
    let (reader, _writer) = std::io::pipe().unwrap();
    let error = File::from_std(std::os::fd::OwnedFd::from(reader).into()).sync_all().await.unwrap_err();
    assert_eq!(error.to_string(), "cannot bring the file to the disk: Invalid argument (os error 22)");
}
