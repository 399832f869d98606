// testsuite/t/nvml_report.rs - what a Rust program sees of each GPU, through the public NVML bindings.
//
// The struct layouts are those of nvml-wrapper-sys, made by its authors from NVIDIA's own header.
#![allow(non_snake_case)]
use nvml_wrapper_sys::bindings::*;
use std::ffi::CStr;
use std::os::raw::{c_char, c_uint};

fn must(what: &str, code: nvmlReturn_t) {
    if code != nvmlReturn_enum_NVML_SUCCESS {
        eprintln!("{what}: NVML says {code}");
        std::process::exit(1);
    }
}

fn text(bytes: &[c_char]) -> String {
    unsafe { CStr::from_ptr(bytes.as_ptr()) }.to_string_lossy().into_owned()
}

unsafe fn report(nvml: &NvmlLib, devices: &[nvmlDevice_t], index: usize) {
    let device = devices[index];
    let mut name = [0 as c_char; 96];
    must("name", nvml.nvmlDeviceGetName(device, name.as_mut_ptr(), 96));
    let mut uuid = [0 as c_char; 96];
    must("uuid", nvml.nvmlDeviceGetUUID(device, uuid.as_mut_ptr(), 96));
    println!("{index} name {}", text(&name));
    println!("{index} uuid {}", text(&uuid));

    let mut pci: nvmlPciInfo_t = std::mem::zeroed();
    must("pci", nvml.nvmlDeviceGetPciInfo_v3(device, &mut pci));
    println!("{index} pci {} {:x} {:08x}", text(&pci.busId), pci.bus, pci.pciDeviceId);

    let mut memory: nvmlMemory_t = std::mem::zeroed();
    must("memory", nvml.nvmlDeviceGetMemoryInfo(device, &mut memory));
    println!("{index} memory {} {} {}", memory.total, memory.used, memory.free);
    let mut memory: nvmlMemory_v2_t = std::mem::zeroed();
    memory.version = std::mem::size_of::<nvmlMemory_v2_t>() as c_uint | 2 << 24;
    must("memory v2", nvml.nvmlDeviceGetMemoryInfo_v2(device, &mut memory));
    println!("{index} memory-v2 {} {} {}", memory.total, memory.reserved, memory.used);

    let mut busy: nvmlUtilization_t = std::mem::zeroed();
    must("utilisation", nvml.nvmlDeviceGetUtilizationRates(device, &mut busy));
    println!("{index} busy {}", busy.gpu);

    let mut processes: [nvmlProcessInfo_t; 8] = std::mem::zeroed();
    let mut count: c_uint = 8;
    must(
        "processes",
        nvml.nvmlDeviceGetComputeRunningProcesses_v3(device, &mut count, processes.as_mut_ptr()),
    );
    for process in &processes[..count as usize] {
        println!("{index} process {} {}", process.pid, process.usedGpuMemory);
    }

    let mut cpus = [0u64; 2];
    must("CPUs", nvml.nvmlDeviceGetCpuAffinity(device, 2, cpus.as_mut_ptr()));
    println!("{index} cpus {:016x} {:016x}", cpus[0], cpus[1]);
    let mut levels = Vec::new();
    for other in devices {
        let mut level: nvmlGpuTopologyLevel_t = 0;
        must("topology", nvml.nvmlDeviceGetTopologyCommonAncestor(device, *other, &mut level));
        levels.push(level.to_string());
    }
    println!("{index} shares {}", levels.join(" "));
    for link in 0..6 {
        let mut peer: nvmlPciInfo_t = std::mem::zeroed();
        must("NVLink", nvml.nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, &mut peer));
        println!("{index} link {}", text(&peer.busId));
    }
}

/// Puts GPU 0 into MIG mode, makes the instance of a profile's index at its last place, tells of
/// it, and ends it.
unsafe fn cut(nvml: &NvmlLib, device: nvmlDevice_t, index: c_uint) {
    let mut activation: nvmlReturn_t = 0;
    must("mode", nvml.nvmlDeviceSetMigMode(device, 1, &mut activation));
    must("activation", activation);
    let mut profile: nvmlGpuInstanceProfileInfo_v2_t = std::mem::zeroed();
    profile.version = std::mem::size_of::<nvmlGpuInstanceProfileInfo_v2_t>() as c_uint | 2 << 24;
    must("profile", nvml.nvmlDeviceGetGpuInstanceProfileInfoV(device, index, &mut profile));
    println!(
        "profile {} {} {} {} {}",
        text(&profile.name), profile.id, profile.sliceCount, profile.instanceCount, profile.memorySizeMB
    );
    let mut places: [nvmlGpuInstancePlacement_t; 16] = std::mem::zeroed();
    let mut count: c_uint = 16;
    must(
        "places",
        nvml.nvmlDeviceGetGpuInstancePossiblePlacements_v2(
            device, profile.id, places.as_mut_ptr(), &mut count,
        ),
    );
    let last = places[count as usize - 1];
    let mut instance: nvmlGpuInstance_t = std::ptr::null_mut();
    must(
        "instance",
        nvml.nvmlDeviceCreateGpuInstanceWithPlacement(device, profile.id, &last, &mut instance),
    );
    let mut info: nvmlGpuInstanceInfo_t = std::mem::zeroed();
    must("info", nvml.nvmlGpuInstanceGetInfo(instance, &mut info));
    println!("instance {} {} {}:{}", info.id, info.profileId, info.placement.start, info.placement.size);
    let mut compute: nvmlComputeInstance_t = std::ptr::null_mut();
    must("compute", nvml.nvmlGpuInstanceCreateComputeInstance(instance, index, &mut compute));
    let mut inner: nvmlComputeInstanceInfo_t = std::mem::zeroed();
    must("compute info", nvml.nvmlComputeInstanceGetInfo_v2(compute, &mut inner));
    let mut uuid = [0 as c_char; 96];
    must("uuid", nvml.nvmlDeviceGetUUID(inner.device, uuid.as_mut_ptr(), 96));
    let mut attributes: nvmlDeviceAttributes_t = std::mem::zeroed();
    must("attributes", nvml.nvmlDeviceGetAttributes_v2(inner.device, &mut attributes));
    println!("device {} {} {}", text(&uuid), attributes.multiprocessorCount, attributes.memorySizeMB);
    println!("early {}", nvml.nvmlGpuInstanceDestroy(instance));
    must("end of compute", nvml.nvmlComputeInstanceDestroy(compute));
    must("end", nvml.nvmlGpuInstanceDestroy(instance));
}

/// Says "ready" when it waits, then the first Xid that any GPU has.
unsafe fn wait_for_xid(nvml: &NvmlLib, devices: &[nvmlDevice_t]) {
    let mut set: nvmlEventSet_t = std::ptr::null_mut();
    must("event set", nvml.nvmlEventSetCreate(&mut set));
    for device in devices {
        let mut types: u64 = 0;
        must("event types", nvml.nvmlDeviceGetSupportedEventTypes(*device, &mut types));
        let wanted = types & nvmlEventTypeXidCriticalError as u64;
        must("register", nvml.nvmlDeviceRegisterEvents(*device, wanted, set));
    }
    println!("ready");
    let mut event: nvmlEventData_t = std::mem::zeroed();
    must("wait", nvml.nvmlEventSetWait_v2(set, &mut event, 30000));
    let index = devices.iter().position(|device| *device == event.device).unwrap();
    println!("{index} xid {} {} {}", event.eventType, event.eventData, event.gpuInstanceId);
    must("free", nvml.nvmlEventSetFree(set));
    let mut errors: u64 = 0;
    let device = event.device;
    must("errors", nvml.nvmlDeviceGetTotalEccErrors(device, 1, 0, &mut errors));
    println!("{index} errors {errors}");
}

fn main() {
    let path = std::env::args().nth(1).expect("usage: nvml_report LIBRARY [events | cut PROFILE-INDEX]");
    unsafe {
        let nvml = NvmlLib::new(path).expect("the library does not load");
        must("nvmlInit", nvml.nvmlInit_v2());
        let mut count: c_uint = 0;
        must("count", nvml.nvmlDeviceGetCount_v2(&mut count));
        let mut devices = Vec::new();
        for index in 0..count {
            let mut device: nvmlDevice_t = std::ptr::null_mut();
            must("handle", nvml.nvmlDeviceGetHandleByIndex_v2(index, &mut device));
            devices.push(device);
        }
        match (std::env::args().nth(2).as_deref(), std::env::args().nth(3)) {
            (Some("cut"), Some(profile)) => cut(&nvml, devices[0], profile.parse().expect("an index")),
            (Some(_), _) => wait_for_xid(&nvml, &devices),
            _ => (0..devices.len()).for_each(|index| report(&nvml, &devices, index)),
        }
        must("nvmlShutdown", nvml.nvmlShutdown());
    }
}
