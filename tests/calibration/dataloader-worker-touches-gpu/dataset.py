class Tiles(torch.utils.data.Dataset):
    def __init__(self, root, mean, std):
        self.files = sorted(pathlib.Path(root).glob("*.tif"))
        self.norm = T.Normalize(mean, std)
    def __len__(self):
        return len(self.files)
    def __getitem__(self, i):
        img = tifffile.imread(self.files[i])
        x = torch.from_numpy(img.astype("float32")).permute(2, 0, 1) / 255
        # normalise on gpu, it's faster
        x = self.norm(x.cuda())
        return x, self.mask(i)
