"""`lathe zoo`: the built-in architectures."""
from fixture import Cli, main, network


class Zoo(Cli):
    def test_zoo_lists(self):
        names = [network["name"] for network in self.figures("zoo", "--list")["networks"]]
        for name in ["resnet50", "mobilenet_v2", "densenet121", "inception_v3", "vgg16"]:
            self.assertIn(name, names)
        self.error("zoo", "resnet51", says="resnet51")


if __name__ == "__main__":
    main()
