"""Packs this interpreter the way standalone builds are packed: python/bin and python/lib, with pip.

make.py OUT.tar.gz
"""
import glob, os, shutil, subprocess, sys, sysconfig, tarfile, tempfile, zipfile

out = sys.argv[1]
name = "python%d.%d" % sys.version_info[:2]
source = os.path.realpath(os.path.join(sys.base_prefix, "bin", name))
stdlib = sysconfig.get_path("stdlib")
skipped = {"test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "pydoc_data", "__pycache__",
           "site-packages", "dist-packages"}

def skip(folder, names):
    return [n for n in names if n in skipped or n.startswith(("config-", "libpython")) or n.endswith((".a", ".pyc"))]

with tempfile.TemporaryDirectory() as temporary:
    root = os.path.join(temporary, "python")
    library = os.path.join(root, "lib", name)
    os.makedirs(os.path.join(root, "bin"))
    shutil.copy2(source, os.path.join(root, "bin", name))
    os.symlink(name, os.path.join(root, "bin", "python3"))
    shutil.copytree(stdlib, library, ignore=skip)
    for shared in glob.glob(os.path.join(sys.base_prefix, "lib", "libpython*.so*")):
        shutil.copy2(shared, os.path.join(root, "lib"), follow_symlinks=False)
    site = os.path.join(library, "site-packages")
    os.makedirs(site, exist_ok=True)
    bundled = glob.glob(os.path.join(stdlib, "ensurepip", "_bundled", "pip-*.whl"))
    if bundled:
        zipfile.ZipFile(bundled[0]).extractall(site)
    else:
        import pip
        shutil.copytree(os.path.dirname(pip.__file__), os.path.join(site, "pip"), ignore=skip)
    subprocess.run([os.path.join(root, "bin", "python3"), "-I", "-B", "-m", "pip", "--version"],
                   check=True, stdout=subprocess.DEVNULL)
    with tarfile.open(out, "w:gz", compresslevel=1) as archive:
        archive.add(root, "python")
